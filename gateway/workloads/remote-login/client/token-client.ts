import type { ServerMetadata } from 'openid-client';
import { ClientAuthentication } from '../../../authserver/upstream/protocol/client-authentication.ts';
import { CodeClient } from '../../../authserver/upstream/protocol/code-client.ts';
import type { Provider } from '../../../authserver/upstream/protocol/guards.ts';
import type { Outbound } from '../../../outbound/fetch.ts';
import type { ClientIdentity } from './clients.ts';

const TIMEOUT_MS = 10_000;

export interface TokenClient {
  readonly client: CodeClient;
  readonly provider: Provider;
}

/** Returns the client of the token endpoint. */
export function tokenClient(
  { clientId, secret, authMethod }: ClientIdentity,
  server: { readonly metadata: ServerMetadata; readonly outbound: Outbound },
  { redirectUri, resource, now }: { redirectUri: string; resource: string | undefined; now: () => number },
): TokenClient {
  const client = new CodeClient({
    ...{ clientId, redirectUri, timeoutMs: TIMEOUT_MS, now },
    authentication: new ClientAuthentication(() => secret),
    tokenParameters: resource === undefined ? undefined : { resource },
    rules: { openid: false },
  });
  // A registered client uses the method of its registration, whatever else the server supports.
  const methods = authMethod === undefined ? {} : { token_endpoint_auth_methods_supported: [authMethod] };
  return { client, provider: { outbound: server.outbound, metadata: { ...server.metadata, ...methods } } };
}
