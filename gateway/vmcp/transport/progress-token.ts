import {
  LONGEST_CHARACTER,
  isObjectSpan,
  memberOf,
  readKey,
  skipWhitespace,
  visitMembers,
  type Span,
} from '../../http/json-walk.ts';
import { fold } from '../../http/known-members.ts';
import { edited } from '../aggregation/forward-params.ts';
import { numberOfId } from './reply.ts';

const META_KEY = Buffer.from('"_meta"');
const ESCAPE = Buffer.from('\\u');
const TOKEN = 'progressToken';
const FOLDED = fold(TOKEN);

/** JSON text of `params` with the progress token `own`, and the text of the sender's token that it replaced. */
export interface OwnedParams {
  readonly params: Buffer;
  readonly givenToken: Buffer | undefined;
}

/**
 * Replaces the sender's progress token by `own`, a number or JSON text, so that tokens of different senders never collide. Of
 * several, all are replaced, also in another case: the receiver may read any of them. The last is the sender's.
 */
export function withOwnToken(params: Buffer, own: number | string): OwnedParams {
  const unchanged = { params, givenToken: undefined };
  // a key may contain escapes; only then a text without "_meta" must be parsed
  if (!params.includes(META_KEY) && !params.includes(ESCAPE)) return unchanged;
  const text = params.subarray(skipWhitespace(params, 0));
  const tokens = tokensIn(text, memberOf(text, wholeOf(text), '_meta'));
  const last = tokens.at(-1);
  if (last === undefined) return unchanged;
  const value = Buffer.from(String(own));
  const owned = edited(
    text,
    wholeOf(text),
    tokens.map((span) => ({ span, text: value })),
  );
  return { params: owned, givenToken: Buffer.from(text.subarray(last.start, last.end)) };
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
  return at && { own: numberOfId(message, at), at };
}
