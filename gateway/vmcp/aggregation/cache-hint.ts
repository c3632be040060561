import { parseObject } from '../../contract/json.ts';
import { readString, scanBackendEnvelope } from '../../http/json-scan.ts';
import { memberOf, splice } from '../../http/json-walk.ts';

/** Time for which a client may keep a list, a resource or the capabilities. @see MCP 2026-07-28, SEP-2549 */
export interface CacheHint {
  readonly ttlMs: number;
  readonly cacheScope: 'public' | 'private';
}

/** Hint of results that say nothing themselves. */
export const NOT_CACHED: CacheHint = { ttlMs: 0, cacheScope: 'private' };

/** Longest time that the gateway passes on: it may add or hide items at any time. */
const LONGEST_TTL_MS = 30_000;

/** Reads the hint of a list result; `NOT_CACHED` for one without a valid hint. */
export function readCacheHint(result: Buffer): CacheHint {
  const { ttlMs, cacheScope } = parseObject(result.toString('utf8')) ?? {};
  const isValid = Number.isSafeInteger(ttlMs) && (ttlMs as number) >= 0;
  return isValid && (cacheScope === 'public' || cacheScope === 'private')
    ? { ttlMs: ttlMs as number, cacheScope }
    : NOT_CACHED;
}

/** Returns the strictest of all hints; `NOT_CACHED` without any. */
export function strictest(hints: readonly CacheHint[]): CacheHint {
  if (hints.length === 0) return NOT_CACHED;
  return {
    ttlMs: Math.min(LONGEST_TTL_MS, ...hints.map(({ ttlMs }) => ttlMs)),
    cacheScope: hints.every(({ cacheScope }) => cacheScope === 'public') ? 'public' : 'private',
  };
}

const SCOPE = Buffer.from('"cacheScope"');

/** Returns a reply whose result only its user may cache. */
export function privateReply(message: Buffer): Buffer {
  if (!message.includes(SCOPE)) return message;
  const scope = memberOf(message, scanBackendEnvelope(message).result, 'cacheScope');
  if (!scope || readString(message, scope) !== 'public') return message;
  return splice(message, { start: 0, end: message.length }, scope, '"private"');
}
