import { readString, scanBackendEnvelope } from '../../../http/json-scan.ts';
import {
  isObjectSpan,
  isWordAt,
  memberOf,
  objectMembers,
  readKey,
  visitMembers,
  type Span,
} from '../../../http/json-walk.ts';
import { shortText } from '../../../http/short-text.ts';
import { SERVER_INFO } from '../../era.ts';

const RESULT_TYPE = Buffer.from('"resultType"');
const COMPLETE = Buffer.from('"resultType":"complete"');
/** Members that clients of older revisions do not know. */
const NEW_MEMBERS: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope']);

/** Input that a backend needs before it can answer. */
export interface InputRequired {
  /** JSON texts of the requests, by key. */
  readonly requests: ReadonlyMap<string, string>;
  readonly state: string | undefined;
}

/** Returns the `resultType` of a reply: `complete` for one without, and for an error. Scans only unusual replies. */
export function resultTypeOf(message: Buffer): string {
  if (shortText(message)?.includes('"resultType"') === false) return 'complete';
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

/** Returns a reply without the members that only clients of the new revision know. */
export function asOlderReply(message: Buffer): Buffer {
  if (!message.includes(RESULT_TYPE)) return message;
  const { result } = scanBackendEnvelope(message);
  if (!result || !isObjectSpan(message, result)) return message;
  const kept = keptMembers(message, result, (key) => !NEW_MEMBERS.has(key));
  return Buffer.concat([message.subarray(0, result.start), kept, message.subarray(result.end)]);
}

function keptMembers(text: Buffer, object: Span, keeps: (key: string) => boolean): Buffer {
  const members: string[] = [];
  visitMembers(text, object, (keyStart, keyEnd, start, end) => {
    const key = readKey(text, keyStart, keyEnd);
    if (!keeps(key)) return;
    if (key !== '_meta' || text[start] !== 0x7b) members.push(text.toString('utf8', keyStart, end));
    else {
      const meta = keptMembers(text, { start, end }, (name) => name !== SERVER_INFO).toString('utf8');
      if (meta !== '{}') members.push(`"_meta":${meta}`);
    }
  });
  return Buffer.from(`{${members.join(',')}}`);
}
