import {
  LONGEST_CHARACTER,
  isObjectSpan,
  memberOf,
  readKey,
  skipWhitespace,
  splice,
  visitMembers,
  type Span,
} from '../../http/json-walk.ts';
import { fold } from '../../http/known-members.ts';

const META_KEY = Buffer.from('"_meta"');
const ESCAPE = Buffer.from('\\u');
const TOKEN = 'progressToken';
const FOLDED = fold(TOKEN);

/** JSON text of `params` with the progress token `own`, and the text of the client's token that it replaced. */
export interface OwnedParams {
  readonly params: Buffer;
  readonly clientToken: Buffer | undefined;
}

/**
 * Replaces the client's progress token by one of the gateway, so that tokens of different clients never collide. Of several, all are
 * replaced, also in another case: a backend may read any of them. The last is the client's.
 */
export function withOwnToken(params: Buffer, own: number): OwnedParams {
  const unchanged = { params, clientToken: undefined };
  // a key may contain escapes; only then a text without "_meta" must be parsed
  if (!params.includes(META_KEY) && !params.includes(ESCAPE)) return unchanged;
  const text = params.subarray(skipWhitespace(params, 0));
  const tokens = tokensIn(text, memberOf(text, wholeOf(text), '_meta'));
  const last = tokens.at(-1);
  if (last === undefined) return unchanged;
  const owned = tokens.length === 1 ? splice(text, wholeOf(text), last, String(own)) : replaced(text, tokens, own);
  return { params: owned, clientToken: Buffer.from(text.subarray(last.start, last.end)) };
}

/** Returns `text` with `own` in place of each token, in one pass: there may be very many. */
function replaced(text: Buffer, tokens: readonly Span[], own: number): Buffer {
  const value = Buffer.from(String(own));
  const length = tokens.reduce((sum, { start, end }) => sum + value.length - (end - start), text.length);
  const out = Buffer.allocUnsafe(length);
  let [from, to] = [0, 0];
  for (const { start, end } of tokens) {
    to += text.copy(out, to, from, start);
    to += value.copy(out, to);
    from = end;
  }
  text.copy(out, to, from);
  return out;
}

/** Returns the progress tokens of `_meta`, as lenient readers find them. */
function tokensIn(text: Buffer, meta: Span | undefined): Span[] {
  const tokens: Span[] = [];
  if (meta === undefined || !isObjectSpan(text, meta)) return tokens;
  visitMembers(text, meta, (keyStart, keyEnd, start, end) => {
    const length = keyEnd - keyStart - 2;
    if (length < TOKEN.length || length > TOKEN.length * LONGEST_CHARACTER) return;
    const key = readKey(text, keyStart, keyEnd);
    if (key === TOKEN || (key.length <= TOKEN.length && fold(key) === FOLDED)) tokens.push({ start, end });
  });
  return tokens;
}

const wholeOf = (text: Buffer): Span => ({ start: 0, end: text.length });

/** Finds the gateway's token, and its place, in the `params` of a `notifications/progress`. */
export function findOwnToken(message: Buffer, params: Span | undefined): { own: number; at: Span } | undefined {
  const at = memberOf(message, params, TOKEN);
  return at && { own: Number(message.toString('latin1', at.start, at.end)), at };
}
