import { memberOf, skipWhitespace, splice, type Span } from '../../http/json-walk.ts';

const META_KEY = Buffer.from('"_meta"');
const ESCAPE = Buffer.from('\\u');

/** JSON text of `params` with the progress token `own`, and the text of the client's token that it replaced. */
export interface OwnedParams {
  readonly params: Buffer;
  readonly clientToken: Buffer | undefined;
}

/** Replaces the client's progress token by one of the gateway, so that tokens of different clients never collide. */
export function withOwnToken(params: Buffer, own: number): OwnedParams {
  const unchanged = { params, clientToken: undefined };
  // a key may contain escapes; only then a text without "_meta" must be parsed
  if (!params.includes(META_KEY) && !params.includes(ESCAPE)) return unchanged;
  const whole = { start: skipWhitespace(params, 0), end: params.length };
  const token = memberOf(params, memberOf(params, whole, '_meta'), 'progressToken');
  if (token === undefined) return unchanged;
  return {
    params: splice(params, whole, token, String(own)),
    clientToken: Buffer.from(params.subarray(token.start, token.end)),
  };
}

/** Finds the gateway's token, and its place, in the `params` of a `notifications/progress`. */
export function findOwnToken(message: Buffer, params: Span | undefined): { own: number; at: Span } | undefined {
  const at = memberOf(message, params, 'progressToken');
  return at && { own: Number(message.toString('latin1', at.start, at.end)), at };
}
