import { byteAt, CLOSE_OBJECT, isObjectSpan, memberOf, skipWhitespace, type Span } from '../../../http/json-walk.ts';
import { readString } from '../../../http/json-scan.ts';
import { OWN_CAPABILITIES } from '../../aggregation/extensions.ts';
import { META, MODERN_REVISION, nameMemberOf } from '../../era.ts';
import { encodeHeaderValue } from '../../header-value.ts';
import { LOG_LEVELS } from '../../log-level.ts';
import { paramHeaders } from '../../tool-headers.ts';
import type { BackendRequest, RequestClient } from '../channel.ts';

const REVISION = `${JSON.stringify(META.version)}:${JSON.stringify(MODERN_REVISION)}`;

/** Returns the members of `_meta` that describe a request of this client. */
export function metaMembers({ capabilities, client, logLevel }: Omit<RequestClient, 'revision'>): string {
  const level = LOG_LEVELS[logLevel];
  return [
    REVISION,
    `${JSON.stringify(META.client)}:${JSON.stringify(client)}`,
    `${JSON.stringify(META.capabilities)}:${capabilities}`,
    ...(level === undefined ? [] : [`${JSON.stringify(META.logLevel)}:${JSON.stringify(level)}`]),
  ].join(',');
}

/** Returns those of a request of the gateway itself. */
export const ownMembers = (client: RequestClient['client']): string =>
  metaMembers({ capabilities: OWN_CAPABILITIES, client, logLevel: -1 });

/** Returns the JSON text of `params` with these members in `_meta`, and every other byte unchanged. */
export function withMeta(params: Buffer | undefined, members: string): Buffer {
  if (params === undefined) return Buffer.from(`{"_meta":{${members}}}`);
  const meta = memberOf(params, whole(params), '_meta');
  if (meta && isObjectSpan(params, meta)) return inserted(params, meta.start + 1, members);
  if (meta)
    return Buffer.concat([params.subarray(0, meta.start), Buffer.from(`{${members}}`), params.subarray(meta.end)]);
  return inserted(params, skipWhitespace(params, 0) + 1, `"_meta":{${members}}`);
}

/** Inserts members behind the opening bracket that ends at `at`. */
function inserted(text: Buffer, at: number, members: string): Buffer {
  const comma = byteAt(text, skipWhitespace(text, at)) === CLOSE_OBJECT ? '' : ',';
  return Buffer.concat([text.subarray(0, at), Buffer.from(members + comma), text.subarray(at)]);
}

const whole = (text: Buffer): Span => ({ start: skipWhitespace(text, 0), end: text.length });

/** Returns a flat list of the headers that repeat parts of the request. @see MCP 2026-07-28, SEP-2243 */
export function mirroredHeaders({ method, params, item }: BackendRequest): string[] {
  const headers = ['mcp-protocol-version', MODERN_REVISION, 'mcp-method', method];
  const member = nameMemberOf(method);
  if (member === undefined || params === undefined) return headers;
  const name = readString(params, memberOf(params, whole(params), member));
  if (name !== undefined) headers.push('mcp-name', encodeHeaderValue(name));
  if (method === 'tools/call' && item) headers.push(...paramHeaders(item, params));
  return headers;
}
