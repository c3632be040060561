import type { ServerMetadata } from 'openid-client';
import { parseObject, textsIn, type JsonObject } from '../../../contract/json.ts';
import type { DcrConfig } from '../../../contract/run-config/upstreams.ts';
import type { Outbound } from '../../../outbound/fetch.ts';
import { faultOf } from '../protocol/fault-of.ts';
import { UpstreamError } from '../upstream-error.ts';

const MAX_BYTES = 256 * 1024;
const TIMEOUT_MS = 10_000;

/** Returns the members of the metadata that a registration at a provider without discovery needs. Rejects with `UpstreamError`. */
export async function metadataOf(
  { discovery_url: url, registration_endpoint: endpoint = '' }: DcrConfig,
  outbound: Outbound,
): Promise<ServerMetadata> {
  if (url === undefined) return { issuer: new URL(endpoint).origin, registration_endpoint: endpoint };
  const document = await fetched(url, outbound);
  const { issuer, registration_endpoint: found, token_endpoint_auth_methods_supported: methods } = document;
  if (typeof issuer !== 'string' || new URL(url).origin !== URL.parse(issuer)?.origin)
    throw new UpstreamError('bad_reply', 'the discovery document has no issuer of its own origin');
  if (typeof found !== 'string' || !URL.canParse(found))
    throw new UpstreamError('misconfigured', `${issuer} offers no registration of clients: set clientId`);
  const supported = textsIn(methods);
  return {
    ...{ issuer, registration_endpoint: found },
    ...(supported && { token_endpoint_auth_methods_supported: supported }),
  };
}

async function fetched(url: string, outbound: Outbound): Promise<JsonObject> {
  const what = 'the discovery of the registration endpoint';
  const limits = { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS };
  const reply = await outbound
    .request({ url, method: 'GET', headers: { accept: 'application/json' }, followRedirects: true, ...limits })
    .catch((error: unknown) => {
      throw faultOf(error, { what, status: undefined });
    });
  const document = reply.status === 200 ? parseObject(reply.body) : undefined;
  if (!document) throw faultOf(undefined, { what, status: reply.status });
  return document;
}
