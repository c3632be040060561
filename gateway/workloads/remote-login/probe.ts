import { challengeParameters } from '../../http/challenge-parameters.ts';
import type { Outbound, OutboundReply } from '../../outbound/fetch.ts';

/** Parameters of the `WWW-Authenticate` header of a remote server. @see RFC 9728 §5.1, RFC 6750 §3 */
export interface RemoteChallenge {
  readonly resourceMetadata?: string | undefined;
  /** Scopes separated by spaces. */
  readonly scope?: string | undefined;
  readonly realm?: string | undefined;
}

const TIMEOUT_MS = 10_000;
const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'vmcp', version: '1' } },
});

/**
 * Sends a request without a credential. Returns the challenge of a server that requires a login, otherwise undefined.
 * Rejects with `OutboundError`.
 */
export async function probe(url: string, outbound: Outbound): Promise<RemoteChallenge | undefined> {
  const common = { url, maxBytes: 0, timeoutMs: TIMEOUT_MS, ignoreBody: true };
  const accept = 'application/json, text/event-stream';
  const headers = { accept, 'content-type': 'application/json' };
  const reply = await outbound.request({ ...common, method: 'POST', headers, body: INITIALIZE });
  // The HTTP+SSE transport (MCP 2024-11-05) has no POST at this URL.
  const isSse = reply.status === 404 || reply.status === 405;
  return challengeIn(isSse ? await outbound.request({ ...common, method: 'GET', headers: { accept } }) : reply);
}

function challengeIn({ status, headers }: OutboundReply): RemoteChallenge | undefined {
  if (status !== 401) return undefined;
  const parameters = challengeParameters(headers['www-authenticate'] ?? '');
  return {
    resourceMetadata: parameters.get('resource_metadata'),
    scope: parameters.get('scope'),
    realm: parameters.get('realm'),
  };
}
