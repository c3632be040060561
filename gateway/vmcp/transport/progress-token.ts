import { memberOf, skipWhitespace, splice, type Span } from '../../http/json-walk.ts';

const META_KEY = Buffer.from('"_meta"');
const ESCAPE = Buffer.from('\\u');

/** JSON text of `params` whose progress token, if it has one, is `own`; `clientToken` is the text that stood there. */
export interface OwnedParams {
  readonly params: Buffer;
  readonly clientToken: Buffer | undefined;
}

/** Puts a token of our own in place of the client's, so that tokens of different clients never meet at the backend. */
export function withOwnToken(params: Buffer, own: number): OwnedParams {
  const unchanged = { params, clientToken: undefined };
  // The key may be spelt with escapes; only then does a text without "_meta" need the walk.
  if (!params.includes(META_KEY) && !params.includes(ESCAPE)) return unchanged;
  const whole = { start: skipWhitespace(params, 0), end: params.length };
  const token = memberOf(params, memberOf(params, whole, '_meta'), 'progressToken');
  if (token === undefined) return unchanged;
  return {
    params: splice(params, whole, token, String(own)),
    clientToken: Buffer.from(params.subarray(token.start, token.end)),
  };
}

/** Place of the token in the `params` of a `notifications/progress`, and our token that it holds. */
export function findOwnToken(message: Buffer, params: Span | undefined): { own: number; at: Span } | undefined {
  const at = memberOf(message, params, 'progressToken');
  return at && { own: Number(message.toString('latin1', at.start, at.end)), at };
}
