import { isObject } from '../../../contract/json.ts';
import { scanBackendEnvelope } from '../../../http/json-scan.ts';
import { MODERN_REVISION, SERVER_INFO } from '../../../contract/protocol/revisions.ts';
import { CODE } from '../../error-codes.ts';
import type { BackendFailure, ServerFacts } from '../channel.ts';

/** Conclusion about a backend from its reply to `server/discover`. */
export type DiscoveryVerdict =
  | { readonly era: 'modern'; readonly facts: ServerFacts }
  | { readonly era: 'retry' } // it speaks the revision, but has refused this request
  | { readonly era: 'legacy' }
  | { readonly era: 'unknown' }; // nothing may be concluded, for example without a login

const REFUSALS: ReadonlySet<unknown> = new Set([CODE.headerMismatch, CODE.missingCapability, CODE.unsupportedVersion]);

/** Statuses that say nothing about the revision. */
const PASSING: ReadonlySet<unknown> = new Set([403, 407, 408, 421, 425, 429]);

/** Judges a JSON-RPC reply. */
export function verdictOf(reply: Buffer): DiscoveryVerdict {
  const { result, error } = scanBackendEnvelope(reply);
  const span = result ?? error;
  const value: unknown = span && JSON.parse(reply.toString('utf8', span.start, span.end));
  if (!isObject(value)) return { era: 'legacy' };
  if (error) return { era: REFUSALS.has(value['code']) ? 'retry' : 'legacy' };
  const { supportedVersions: versions, capabilities, instructions, _meta: meta } = value;
  if (!Array.isArray(versions) || !versions.includes(MODERN_REVISION)) return { era: 'legacy' };
  const info = isObject(meta) ? meta[SERVER_INFO] : undefined;
  return {
    era: 'modern',
    facts: {
      revision: MODERN_REVISION,
      capabilities: isObject(capabilities) ? capabilities : {},
      serverInfo: isObject(info) ? info : {},
      instructions: typeof instructions === 'string' ? instructions : undefined,
      hasSession: false,
    },
  };
}

/**
 * Returns true for a reply to `initialize` that a server without sessions may send: an error with any code.
 * @see MCP 2026-07-28, basic/versioning, Compatibility Matrix
 */
export const refusesSessions = (reply: Buffer): boolean => scanBackendEnvelope(reply).error !== undefined;

/** Judges a failure on the way. */
export function verdictOfFailure({ kind, status }: BackendFailure): DiscoveryVerdict {
  const isAnswer = kind === 'garbage' || (kind === 'refused' && !PASSING.has(status));
  return { era: isAnswer ? 'legacy' : 'unknown' };
}
