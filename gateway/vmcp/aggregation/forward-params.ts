import { splice, type Span } from '../../http/json-walk.ts';
import type { Route } from './view.ts';

/**
 * Returns the JSON text of `params` for the backend of `route`: a view of the received bytes, or a copy with another
 * value at `name` when the item was renamed. `name` is the span of `params.name` or `params.uri`, or of the name or URI
 * in `params.ref` (`Reference.value`) for a completion.
 */
export function forwardParams(text: Buffer, params: Span, name: Span, route: Route): Buffer {
  return route.renamed ? splice(text, params, name, route.nameJson) : text.subarray(params.start, params.end);
}

/** Replacement of a part of a client's text. */
export interface Edit {
  readonly span: Span;
  readonly text: string | Buffer;
}

/** Returns the bytes of `whole` with the parts at `edits`, which do not overlap, replaced. */
export function edited(text: Buffer, whole: Span, edits: readonly Edit[]): Buffer {
  const [first] = edits;
  if (first && edits.length === 1) return splice(text, whole, first.span, first.text);
  const pieces: Buffer[] = [];
  let at = whole.start;
  for (const { span, text: value } of [...edits].sort((one, other) => one.span.start - other.span.start)) {
    pieces.push(text.subarray(at, span.start), Buffer.from(value));
    at = span.end;
  }
  return Buffer.concat([...pieces, text.subarray(at, whole.end)]);
}
