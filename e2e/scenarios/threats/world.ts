import { startMcpServer, type McpServer } from '../../faults/mcp-server.ts';
import { sendBytes, type BytesRequest } from '../../harness/clients/bytes.ts';
import { initializeRequest, MCP_HEADERS, type RawResponse } from '../../harness/clients/raw.ts';
import { startIssuer, type Issuer } from '../../harness/issuer.ts';
import { entry, group, secret, virtualServer, yaml, type Manifest } from '../../harness/manifests.ts';
import { eventually } from '../../harness/poll.ts';
import type { Scope } from '../../harness/scope.ts';
import { startVmcp, type Vmcp } from '../../harness/vmcp.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Audience of a server without a resource URL: its own URL is the resource. */
export const AUDIENCE = 'gateway-audience';
/** Audience and resource URL of the other server. */
export const OTHER_AUDIENCE = 'https://other.example/mcp';
export const API_KEY = 'api-key-0123456789abcdef';
export const EXCHANGE_HEADER = 'x-downstream-token';

const CLIENT_SECRET = { name: 'client', key: 'secret' };

/** Returns a VirtualMCPServer that accepts tokens of this issuer. */
export const protectedServer = (name: string, inline: Fields, incoming: Fields = {}, spec: Fields = {}): Manifest =>
  virtualServer(
    { operational: { logLevel: 'debug', failureHandling: { healthCheckInterval: '10m' } } },
    { name, ...spec, incomingAuth: { type: 'oidc', oidcConfig: { type: 'inline', inline }, ...incoming } },
  );

export const externalAuth = (name: string, spec: Fields): Manifest => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPExternalAuthConfig',
  metadata: { name },
  spec,
});

const backend = (name: string, url: string, auth?: string): Manifest =>
  entry(name, url, 'streamable-http', auth === undefined ? {} : { externalAuthConfigRef: { name: auth } });

/** One process with two protected servers over three backends: without credential, with a key, with an exchanged token. */
export interface World {
  readonly issuer: Issuer;
  /** An untrusted issuer: the gateway must never send it a request. */
  readonly stranger: Issuer;
  readonly vmcp: Vmcp;
  /** Port of the server with the audience `OTHER_AUDIENCE` and the scope `mcp:use`. */
  readonly otherPort: number;
  readonly backends: Readonly<Record<'plain' | 'keyed' | 'exchanged' | 'broken', McpServer>>;
  /** Sends a request, by default `initialize`, with these header lines. */
  send(request: BytesRequest, port?: number): Promise<RawResponse>;
  /** Sends `initialize` with this token. */
  present(token: string, port?: number): Promise<RawResponse>;
}

export const MCP_LINES = Object.entries(MCP_HEADERS).map(([name, value]) => `${name}: ${value}`);

export async function startWorld(scope: Scope): Promise<World> {
  const issuer = await startIssuer(scope, { audience: AUDIENCE });
  const stranger = await startIssuer(scope, { audience: AUDIENCE });
  const backends = {
    plain: await startMcpServer(scope, 'plain'),
    keyed: await startMcpServer(scope, 'keyed'),
    exchanged: await startMcpServer(scope, 'exchanged'),
    broken: await startMcpServer(scope, 'broken'),
  };
  const vmcp = await startVmcp(scope, { files: { 'world.yaml': manifests(issuer, backends) } });
  const otherPort = await portOf(vmcp, 'other');
  const send: World['send'] = (request, port = vmcp.port) => {
    const lines = [...MCP_LINES, ...(request.lines ?? [])];
    return sendBytes(port, { body: initializeRequest(), ...request, lines });
  };
  const present: World['present'] = (token, port) => send({ lines: [`Authorization: Bearer ${token}`] }, port);
  return { issuer, stranger, vmcp, otherPort, backends, send, present };
}

function manifests(issuer: Issuer, { plain, keyed, exchanged, broken }: World['backends']): string {
  const client = { clientId: issuer.clientId, clientSecretRef: CLIENT_SECRET };
  const other = { issuer: issuer.url, audience: OTHER_AUDIENCE };
  const exchange = { tokenUrl: issuer.tokenUrl, audience: 'exchanged', externalTokenHeaderName: EXCHANGE_HEADER };
  return yaml(
    group(),
    secret('client', { secret: issuer.clientSecret }),
    secret('key', { value: API_KEY, broken: `${API_KEY}\r\nX-Smuggled: yes` }),
    externalAuth('key', {
      type: 'headerInjection',
      headerInjection: { headerName: 'X-Api-Key', valueSecretRef: { name: 'key', key: 'value' } },
    }),
    externalAuth('broken', {
      type: 'headerInjection',
      headerInjection: { headerName: 'X-Api-Key', valueSecretRef: { name: 'key', key: 'broken' } },
    }),
    externalAuth('exchange', { type: 'tokenExchange', tokenExchange: { ...client, ...exchange } }),
    backend('plain', plain.url),
    backend('keyed', keyed.url, 'key'),
    backend('exchanged', exchanged.url, 'exchange'),
    backend('broken', broken.url, 'broken'),
    protectedServer('gateway', { issuer: issuer.url, audience: AUDIENCE, ...client }),
    protectedServer('other', other, {
      oidcConfig: { type: 'inline', inline: other, resourceUrl: OTHER_AUDIENCE },
      requiredScopes: ['mcp:use'],
    }),
  );
}

/** Returns the public port of a server, from the table that `up` prints. */
export const portOf = (vmcp: Vmcp, name: string): Promise<number> =>
  eventually(`the table names ${name}`, () => {
    const line = vmcp
      .stdout()
      .split('\n')
      .find((each) => each.startsWith(`${name} `));
    return Number(/http:\/\/127\.0\.0\.1:(\d+)\/mcp/.exec(line ?? '')?.[1]) || undefined;
  });

/** Returns the parts of a rejection that the client sees. */
export function refusalOf({ status, headers, body }: RawResponse) {
  const challenge = headers['www-authenticate'];
  const errorCode = /(?:^|[ ,])error="([^"]*)"/.exec(challenge ?? '')?.[1];
  return { status, error: errorCode, challenged: challenge?.startsWith('Bearer resource_metadata="') ?? false, body };
}
