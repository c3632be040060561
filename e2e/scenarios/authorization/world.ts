import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { startGatewayOver, type AuthenticatedGateway, type GatewayParts } from '../../harness/authenticated-gateway.ts';
import type { HttpBackend } from '../../harness/backends/host.ts';
import { startHttpBackend } from '../../harness/backends/http.ts';
import { openSession, type RawSession } from '../../harness/clients/raw.ts';
import { startIssuer, type Claims, type Issuer } from '../../harness/issuer.ts';
import type { Scope } from '../../harness/scope.ts';

export interface AuthorizedWorld extends AuthenticatedGateway {
  readonly issuer: Issuer;
  readonly backend: HttpBackend;
  /** Replaces the policies; sessions continue. */
  permit(...policies: string[]): Promise<void>;
  /** Returns the number of requests of this method that reached the backend. */
  received(method: string): number;
  headersOf(claims: Claims): Record<string, string>;
  /** Opens a session of a user with plain requests. */
  open(claims: Claims): Promise<RawSession>;
  /** Connects the client of SDK 1.x. */
  connectV1(claims: Claims): Promise<Client>;
  /** Connects the client of SDK 2.x. */
  connectV2(claims: Claims): Promise<ClientV2>;
}

/** Starts an issuer, a backend `alpha` whose tool `big` is hidden, and a gateway with these policies. */
export async function startWorld(scope: Scope, ...policies: string[]): Promise<AuthorizedWorld> {
  const issuer = await startIssuer(scope);
  const backend = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  const partsOf = (texts: string[]): GatewayParts => ({
    issuer,
    backends: [{ name: 'alpha', transport: 'streamable-http', url: backend.url }],
    aggregation: { tools: [{ workload: 'alpha', filter: ['echo', 'add', 'structured', 'whoami', 'failing'] }] },
    cedar: { policies: texts },
  });
  const running = await startGatewayOver(scope, partsOf(policies));
  const headersOf = (claims: Claims) => ({ authorization: `Bearer ${issuer.token({ sub: 'alice', ...claims })}` });
  return {
    ...running,
    issuer,
    backend,
    permit: (...texts) => running.swap(partsOf(texts)),
    received: (method) => backend.seen.filter((request) => request.method === method).length,
    headersOf,
    open: (claims) => openSession(running.url, undefined, headersOf(claims)),
    async connectV1(claims) {
      const client = new Client({ name: 'sdk-1', version: '1' });
      await client.connect(
        new StreamableHTTPClientTransport(new URL(running.url), { requestInit: { headers: headersOf(claims) } }),
      );
      scope.defer(() => client.close());
      return client;
    },
    async connectV2(claims) {
      const client = new ClientV2({ name: 'sdk-2', version: '1' }, { versionNegotiation: { mode: 'auto' } });
      await client.connect(new TransportV2(new URL(running.url), { requestInit: { headers: headersOf(claims) } }));
      scope.defer(() => client.close());
      return client;
    },
  };
}
