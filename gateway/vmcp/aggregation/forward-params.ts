import { splice, type Span } from '../../http/json-walk.ts';
import type { Route } from './view.ts';

/**
 * Returns the JSON text of `params` for the backend of `route`: a view of the received bytes, or a copy with another
 * value at `name` when the tool or prompt was renamed. `name` is the span of `params.name`, or of `ref.name`
 * (`Reference.value`) for a completion. URIs of resources never change.
 */
export function forwardParams(text: Buffer, params: Span, name: Span, route: Route): Buffer {
  return route.renamed ? splice(text, params, name, route.nameJson) : text.subarray(params.start, params.end);
}
