import { methodOf } from '../../../contract/protocol/methods.ts';
import {
  byteAt,
  CLOSE_OBJECT,
  COMMA,
  isObjectSpan,
  isWordAt,
  memberOf,
  skipWhitespace,
  splice,
  wholeOf,
  withMember,
} from '../../../http/json-walk.ts';
import { readString } from '../../../http/json-scan.ts';
import { OWN_CAPABILITIES } from '../../aggregation/extensions.ts';
import { META, MODERN_REVISION } from '../../../contract/protocol/revisions.ts';
import { encodeHeaderValue } from '../../header-value.ts';
import { LOG_LEVELS } from '../../log-level.ts';
import { paramHeaders } from '../../tool-headers.ts';
import type { BackendRequest, RequestClient } from '../channel.ts';

const REVISION = `${JSON.stringify(META.version)}:${JSON.stringify(MODERN_REVISION)}`;

type Described = Omit<RequestClient, 'revision'>;

/** JSON text of the members of `_meta` that describe a request. */
export interface MetaMembers {
  readonly text: Buffer;
  /** The same with a comma, for an object with other members. */
  readonly before: Buffer;
}

/** The last text of each client: most requests of a client describe it in the same way. */
const LAST = new WeakMap<Described['client'], Omit<Described, 'client'> & { readonly members: MetaMembers }>();

/** Returns what describes a request of this client. */
export function metaMembers({ capabilities, client, logLevel }: Described): MetaMembers {
  const last = LAST.get(client);
  if (last?.logLevel === logLevel && last.capabilities === capabilities) return last.members;
  const level = LOG_LEVELS[logLevel];
  const text = [
    REVISION,
    `${JSON.stringify(META.client)}:${JSON.stringify(client)}`,
    `${JSON.stringify(META.capabilities)}:${capabilities}`,
    ...(level === undefined ? [] : [`${JSON.stringify(META.logLevel)}:${JSON.stringify(level)}`]),
  ].join(',');
  const members = { text: Buffer.from(text), before: Buffer.from(`${text},`) };
  LAST.set(client, { capabilities, logLevel, members });
  return members;
}

/** Returns what describes a request of the gateway itself. */
export const ownMembers = (client: RequestClient['client']): MetaMembers =>
  metaMembers({ capabilities: OWN_CAPABILITIES, client, logLevel: -1 });

/** Returns the JSON text of `params` with these members in `_meta`, and every other byte unchanged. */
export function withMeta(params: Buffer | undefined, members: MetaMembers): Buffer {
  const own = `{${members.text.toString()}}`;
  if (params === undefined) return Buffer.from(`{"_meta":${own}}`);
  const span = wholeOf(params);
  const meta = memberOf(params, span, '_meta');
  if (!meta || !isObjectSpan(params, meta)) return withMember(params, span, '_meta', own);
  const at = meta.start + 1;
  return splice(params, span, { start: at, end: at }, membersAt(params, at, members));
}

const META_FIRST = Buffer.from('{"_meta":{');
const META_LAST = Buffer.from('"_meta":{}}');

/**
 * Returns the offset behind the opening bracket of `_meta` where most clients write it: as the first member, or without other
 * members as the last one. Behind a comma a quotation mark begins a key, and only the outermost object ends with the text.
 */
export function openOfMeta(params: Buffer): number | undefined {
  if (isWordAt(params, 0, META_FIRST.length, META_FIRST)) return META_FIRST.length;
  const last = params.length - META_LAST.length;
  const isLast = last > 0 && params[last - 1] === COMMA && isWordAt(params, last, params.length, META_LAST);
  return isLast ? params.length - 2 : undefined;
}

/** Returns the members for the offset `at` behind the opening bracket of `_meta`. */
export const membersAt = (params: Buffer, at: number, { text, before }: MetaMembers): Buffer =>
  byteAt(params, skipWhitespace(params, at)) === CLOSE_OBJECT ? text : before;

/** Returns a flat list of the headers that repeat parts of the request. @see MCP 2026-07-28, SEP-2243 */
export function mirroredHeaders({ method, params, item }: BackendRequest): string[] {
  const headers = ['mcp-protocol-version', MODERN_REVISION, 'mcp-method', method];
  const member = methodOf(method).nameHeader;
  if (member === undefined || params === undefined) return headers;
  const name = readString(params, memberOf(params, wholeOf(params), member));
  if (name !== undefined) headers.push('mcp-name', encodeHeaderValue(name));
  if (methodOf(method).callsTool && item) headers.push(...paramHeaders(item, params));
  return headers;
}
