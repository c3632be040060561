import { beforeAll, expect, it } from 'vitest';
import { raw } from '../../harness/clients/raw.ts';
import { freePort } from '../../harness/free-port.ts';
import { entry, group, secret, virtualServer, yaml, type Manifest } from '../../harness/manifests.ts';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { blockScope } from '../../harness/scope.ts';
import { startVmcp } from '../../harness/vmcp.ts';
import { newKeys } from '../auth-server/manifests.ts';
import { OAuthClient } from '../auth-server/oauth-client.ts';
import { openBearerSession } from '../bearer-session.ts';
import { startCredentialBackend } from '../credential-backend.ts';
import { answerJson, startLyingProvider, type LyingProvider } from './lying-provider.ts';

interface Neighbour {
  readonly origin: string;
  readonly issuer: string;
  readonly client: OAuthClient;
  readonly access: string;
  readonly refresh: string;
}

const PATH = '/team';

const scope = blockScope();
let first: Neighbour;
let second: Neighbour;

/** Returns two servers with the same keys and the same resource, the most careless configuration. */
function manifests(issuers: readonly [string, string], resource: string, provider: LyingProvider): Manifest[] {
  const { signing, hmac } = newKeys();
  const keys = secret('keys', { signing, hmac });
  const servers = issuers.flatMap((issuer, index): Manifest[] => {
    const name = `server-${String(index)}`;
    const authServerConfig = {
      issuer,
      upstreamProviders: [provider.entry('corp')],
      signingKeySecretRefs: [{ name: 'keys', key: 'signing' }],
      hmacSecretRefs: [{ name: 'keys', key: 'hmac' }],
    };
    const incomingAuth = { type: 'oidc', oidcConfigRef: { name }, audience: resource };
    const spec = { type: 'inline', inline: { issuer } };
    return [
      { apiVersion: 'vmcp.dev/v1alpha1', kind: 'MCPOIDCConfig', metadata: { name }, spec },
      virtualServer({}, { name, incomingAuth, authServerConfig }),
    ];
  });
  return [group(), ...servers, keys, secret('chat', { secret: 'secret-at-the-provider' })];
}

async function loggedInAt(origin: string): Promise<Neighbour> {
  const issuer = `${origin}${PATH}`;
  const client = await OAuthClient.register(issuer);
  const { access_token: access, refresh_token: refresh = '' } = await client.login(new ScriptedBrowser());
  return { origin, issuer, client, access, refresh };
}

beforeAll(async () => {
  const provider = await startLyingProvider(scope);
  provider.token = answerJson({ access_token: 'token-of-the-provider', token_type: 'bearer' });
  provider.user = answerJson({ id: 'ann' });
  const { url } = await startCredentialBackend(scope, 'files');
  const port = await freePort(2);
  const [one, other] = [`http://127.0.0.1:${String(port)}`, `http://127.0.0.1:${String(port + 1)}`];
  const all = manifests([`${one}${PATH}`, `${other}${PATH}`], `${one}/mcp`, provider);
  await startVmcp(scope, { port, files: { 'two.yaml': yaml(...all, entry('files', url)) } });
  first = await loggedInAt(one);
  second = await loggedInAt(other);
});

const session = ({ origin }: Neighbour, token: string): Promise<string> =>
  openBearerSession(`${origin}/mcp`, token).then(
    () => 'open',
    (error: unknown) => /HTTP \d+ \{"error":"\w+"/u.exec(String(error))?.[0] ?? String(error),
  );

const post = ({ issuer }: Neighbour, path: string, form: Readonly<Record<string, string>>) =>
  raw(`${issuer}/oauth/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
  });

it('row 35: a token of one server is invalid at the other, despite shared keys and resource', async () => {
  const refused = 'HTTP 401 {"error":"invalid_token"';
  expect(await session(first, first.access)).toBe('open');
  expect(await session(second, second.access)).toBe('open');
  expect(await session(second, first.access)).toBe(refused);
  expect(await session(first, second.access)).toBe(refused);
  const headers = { authorization: `Bearer ${first.access}` };
  expect((await raw(`${second.issuer}/oauth/userinfo`, { headers })).status).toBe(401);
});

it('row 35: a refresh token of one server is invalid at the other, which cannot revoke it', async () => {
  const { client_id } = second.client.client;
  const refresh = { grant_type: 'refresh_token', refresh_token: first.refresh };
  expect((await post(second, 'token', { ...refresh, client_id })).body).toContain('"invalid_grant"');
  const stranger = await post(second, 'token', { ...refresh, client_id: first.client.client.client_id });
  expect(stranger.body).toContain('"invalid_client"');
  for (const token of [first.access, first.refresh])
    expect((await post(second, 'revoke', { client_id, token })).status).toBe(200);
  expect(await session(first, first.access)).toBe('open');
  expect((await first.client.refresh(first.refresh)).access_token).toBeTypeOf('string');
});

it.each([
  [200, `/.well-known/oauth-authorization-server${PATH}`],
  [200, `${PATH}/.well-known/oauth-authorization-server`],
  [200, `${PATH}/.well-known/jwks.json`],
  [404, '/.well-known/oauth-authorization-server'],
  [404, `/.well-known/oauth-authorization-server${PATH}/x`],
  [404, '/.well-known/jwks.json'],
  [401, '/oauth/authorize'],
  [401, `${PATH}/mcp`],
] as const)('an issuer with a path: %i at %s', async (status, path) => {
  expect((await raw(`${first.origin}${path}`)).status).toBe(status);
});
