import { readString, scanBackendEnvelope } from '../../../http/json-scan.ts';
import {
  arrayElements,
  isArraySpan,
  isObjectSpan,
  isWordAt,
  memberOf,
  objectMembers,
  OPEN_OBJECT,
  readKey,
  visitMembers,
  withMember,
  type Span,
} from '../../../http/json-walk.ts';
import { shortText } from '../../../http/short-text.ts';
import { SERVER_INFO } from '../../era.ts';

const RESULT_TYPE = Buffer.from('"resultType"');
export const COMPLETE_TYPE = '"resultType":"complete"';
const COMPLETE = Buffer.from(COMPLETE_TYPE);
/** The key with its last quotation mark only, so that one with a prefix is found, too. */
const KEY = 'resultType"';
const RARE = 'Type"';
const RARE_AT = KEY.indexOf(RARE);
/** Members that clients of older revisions do not know. */
const NEW_MEMBERS: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope']);

/** Input that a backend needs before it can answer. */
export interface InputRequired {
  /** JSON texts of the requests, by key. */
  readonly requests: ReadonlyMap<string, string>;
  readonly state: string | undefined;
}

let last: string | undefined;
let isLastPlain = false;
let lastCompleteAt = -1;

/** Those who read one reply share the search, which looks for rare characters first: that takes a tenth of the time. */
function search(text: string): void {
  last = text;
  lastCompleteAt = -1;
  const rareAt = text.indexOf(RARE);
  const keyAt = rareAt === -1 || text.startsWith(KEY, rareAt - RARE_AT) ? rareAt - RARE_AT : text.indexOf(KEY);
  isLastPlain = keyAt < 0 && !text.includes('_meta"');
  if (keyAt > 0 && text.startsWith(COMPLETE_TYPE, keyAt - 1) && !text.includes(KEY, keyAt + KEY.length))
    lastCompleteAt = keyAt - 1;
}

/** Returns true for the text of a reply that has neither `resultType` nor `_meta`. */
export function isPlain(text: string): boolean {
  if (text !== last) search(text);
  return isLastPlain;
}

/** Returns the offset of `"resultType":"complete"` in the text of a reply without another `resultType`; -1 for other texts. */
export function completeTypeAt(text: string): number {
  if (text !== last) search(text);
  return lastCompleteAt;
}

/** Returns the `resultType` of a reply: `complete` for one without, and for an error. Scans only unusual replies. */
export function resultTypeOf(message: Buffer): string {
  const text = shortText(message);
  if (text !== undefined && (isPlain(text) || completeTypeAt(text) !== -1)) return 'complete';
  const at = message.indexOf(RESULT_TYPE);
  if (at === -1) return 'complete';
  const end = at + COMPLETE.length;
  if (isWordAt(message, at, end, COMPLETE) && !message.includes(RESULT_TYPE, end)) return 'complete';
  return readString(message, memberOf(message, scanBackendEnvelope(message).result, 'resultType')) ?? 'complete';
}

/** Returns what the result of a reply asks for; undefined for a complete one, and for an error. */
export function readInputRequired(message: Buffer): InputRequired | undefined {
  const { result } = scanBackendEnvelope(message);
  if (!result || !isObjectSpan(message, result)) return undefined;
  const members = objectMembers(message, result);
  if (readString(message, members.get('resultType')) !== 'input_required') return undefined;
  const span = members.get('inputRequests');
  const requests = span && isObjectSpan(message, span) ? [...objectMembers(message, span)] : [];
  return {
    requests: new Map(requests.map(([key, { start, end }]) => [key, message.toString('utf8', start, end)])),
    state: readString(message, members.get('requestState')),
  };
}

/**
 * Returns a reply without the members that only clients of the new revision know. A structured content that is no object, which
 * older revisions do not have, becomes text unless the result has content. @see SEP-2106
 */
export function asOlderReply(message: Buffer): Buffer {
  if (!message.includes(RESULT_TYPE)) return message;
  const { result } = scanBackendEnvelope(message);
  if (!result || !isObjectSpan(message, result)) return message;
  let value: string | undefined;
  const kept = keptMembers(message, result, (key, start, end) => {
    if (key !== 'structuredContent' || message[start] === OPEN_OBJECT) return !NEW_MEMBERS.has(key);
    value = message.toString('utf8', start, end);
    return false;
  });
  const older = value === undefined ? kept : withText(kept, value);
  return Buffer.concat([message.subarray(0, result.start), older, message.subarray(result.end)]);
}

function withText(result: Buffer, text: string): Buffer {
  const whole = { start: 0, end: result.length };
  const content = memberOf(result, whole, 'content');
  if (content && isArraySpan(result, content) && arrayElements(result, content).length > 0) return result;
  return withMember(result, whole, 'content', JSON.stringify([{ type: 'text', text }]));
}

function keptMembers(
  text: Buffer,
  object: Span,
  keeps: (key: string, valueStart: number, valueEnd: number) => boolean,
): Buffer {
  const members: string[] = [];
  visitMembers(text, object, (keyStart, keyEnd, start, end) => {
    const key = readKey(text, keyStart, keyEnd);
    if (!keeps(key, start, end)) return;
    if (key !== '_meta' || text[start] !== OPEN_OBJECT) members.push(text.toString('utf8', keyStart, end));
    else {
      const meta = keptMembers(text, { start, end }, (name) => name !== SERVER_INFO).toString('utf8');
      if (meta !== '{}') members.push(`"_meta":${meta}`);
    }
  });
  return Buffer.from(`{${members.join(',')}}`);
}
