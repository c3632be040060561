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
  const [first, second] = edits;
  if (!first) return text.subarray(whole.start, whole.end);
  if (!second) return splice(text, whole, first.span, first.text);
  const ordered = isOrdered(edits) ? edits : [...edits].sort((one, other) => one.span.start - other.span.start);
  let length = whole.end - whole.start;
  for (const { span, text: value } of ordered) length += lengthOf(value) - (span.end - span.start);
  const out = Buffer.allocUnsafe(length);
  let from = whole.start;
  let at = 0;
  for (const { span, text: value } of ordered) {
    at += text.copy(out, at, from, span.start);
    at += typeof value === 'string' ? out.write(value, at) : value.copy(out, at);
    from = span.end;
  }
  text.copy(out, at, from, whole.end);
  return out;
}

const lengthOf = (value: string | Buffer): number =>
  typeof value === 'string' ? Buffer.byteLength(value) : value.length;

function isOrdered(edits: readonly Edit[]): boolean {
  let end = 0;
  for (const { span } of edits) {
    if (span.start < end) return false;
    ({ end } = span);
  }
  return true;
}
