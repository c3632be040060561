import { readString, scanBackendEnvelope } from '../../../http/json-scan.ts';
import {
  arrayElements,
  isArraySpan,
  isObjectSpan,
  memberOf,
  objectMembers,
  OPEN_OBJECT,
  readKey,
  visitMembers,
  withMember,
  type Span,
} from '../../../http/json-walk.ts';
import { shortText } from '../../../http/short-text.ts';
import { SERVER_INFO } from '../../../contract/protocol/revisions.ts';

const RESULT_TYPE = '"resultType"';
export const COMPLETE_TYPE = '"resultType":"complete"';
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
  const mayHaveType = text.includes('Type"') && text.includes('resultType"');
  isLastPlain = !mayHaveType && !text.includes('_meta"');
  lastCompleteAt = mayHaveType ? completeTypeIn(text) : -1;
}

/** Returns the offset of `COMPLETE_TYPE` in a reply without another `resultType`; -1 for others. */
function completeTypeIn(reply: string | Buffer): number {
  const at = reply.indexOf(RESULT_TYPE);
  const isComplete = at !== -1 && reply.indexOf(COMPLETE_TYPE, at) === at;
  return isComplete && !reply.includes(RESULT_TYPE, at + COMPLETE_TYPE.length) ? at : -1;
}

/** Returns true for the text of a reply that has neither `resultType` nor `_meta`. */
export function isPlain(text: string): boolean {
  if (text !== last) search(text);
  return isLastPlain;
}

/** Does `completeTypeIn` for the text of a reply. */
export function completeTypeAt(text: string): number {
  if (text !== last) search(text);
  return lastCompleteAt;
}

/** Returns the `resultType` of a reply: `complete` for one without, and for an error. Scans only unusual replies. */
export function resultTypeOf(message: Buffer): string {
  const text = shortText(message);
  if (text !== undefined && isPlain(text)) return 'complete';
  const completeAt = text === undefined ? completeTypeIn(message) : completeTypeAt(text);
  if (completeAt !== -1 || !message.includes(RESULT_TYPE)) return 'complete';
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
