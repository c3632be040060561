import { splice, type Span } from '../../http/json-walk.ts';
import type { Route } from './view.ts';

/**
 * The JSON text of `params` for the backend of `route`: the received bytes (a view of `text`, not a copy) unless the tool
 * or prompt was renamed; then only the value at `name` changes. `name` is the span of `params.name`, or of `ref.name`
 * (`Reference.value`) for completion. Nothing is rewritten for resources: their URIs never change.
 */
export function forwardParams(text: Buffer, params: Span, name: Span, route: Route): Buffer {
  return route.renamed ? splice(text, params, name, route.nameJson) : text.subarray(params.start, params.end);
}
