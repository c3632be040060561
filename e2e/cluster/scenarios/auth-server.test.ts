import { connect } from 'node:net';
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAuthority } from '../../../gateway/outbound/testdata/authority.ts';
import { freePort } from '../../harness/free-port.ts';
import { startIdentityProvider } from '../../harness/identity-provider.ts';
import { startOAuth2Provider, type OAuth2Provider } from '../../harness/oauth2-provider.ts';
import { openSession, textOf } from '../../harness/clients/raw.ts';
import { eventually } from '../../harness/poll.ts';
import { startSentinelTrio, type SentinelTrio } from '../../harness/redis.ts';
import { blockScope, type Scope } from '../../harness/scope.ts';
import { bearerOf, startCredentialBackend, type CredentialBackend } from '../../scenarios/credential-backend.ts';
import { SDKS } from '../../scenarios/sdk-login.ts';
import { ScriptedLogin } from '../../scenarios/scripted-login.ts';
import { connectCluster } from '../harness/cluster.ts';
import { exampleManifests } from './example.ts';

const cluster = connectCluster();
const NAMESPACE = 'auth-server';
const HOST = cluster.reach.hostAddress;
/** The development client of the identity provider of the examples. */
const CORP_SECRET = 'vmcp-development-secret';

/** Starts a proxy that terminates TLS in front of a Service, like an Ingress. */
async function startTlsFront(scope: Scope, port: number, service: () => URL): Promise<void> {
  const authority = createAuthority('authority of the cluster tests');
  setDefaultCACertificates([...getCACertificates('default'), authority.cert]);
  const server = createServer(authority.sign(`IP:${HOST}`), (socket) => {
    const upstream = connect(Number(service().port), service().hostname);
    socket.pipe(upstream).pipe(socket);
    for (const end of [socket, upstream]) {
      end.on('error', () => {
        socket.destroy();
        upstream.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(port, HOST, resolve));
  scope.defer(() => server.close());
}

const credentialAt = (backend: CredentialBackend): string | undefined => {
  const call = backend.seen.findLast(({ method }) => method === 'tools/call');
  return call && bearerOf(call.headers);
};

/** Returns the example with addresses of this machine, and the options that allow plain HTTP and private addresses. */
function manifests(
  issuer: string,
  corpIssuer: string,
  chat: OAuth2Provider,
  trio: SentinelTrio,
  [files, posts]: readonly CredentialBackend[],
): string {
  const lax = (text: string, indent: number) =>
    `${text}\n${' '.repeat(indent)}insecureAllowHTTP: true\n${' '.repeat(indent)}allowPrivateIPs: true`;
  const entryOf = (backend: CredentialBackend | undefined) =>
    `remoteUrl: ${backend?.url ?? ''}\n  insecureAllowHTTP: true\n  allowPrivateEndpoint: true`;
  const allowedHostOf = (backend: CredentialBackend | undefined) =>
    `allowedHosts: ['${new URL(backend?.url ?? '').host}']`;
  const sentinels = trio.sentinels.map(({ port }) => `'${HOST}:${String(port)}'`).join(', ');
  return exampleManifests('kubernetes-auth-server', {
    'remoteUrl: https://files.example.com/mcp': entryOf(files),
    'remoteUrl: https://chat.example.com/mcp': entryOf(posts),
    'allowedHosts: [files.example.com]': allowedHostOf(files),
    'allowedHosts: [chat.example.com]': allowedHostOf(posts),
    'https://mcp.example.com': issuer,
    'issuerUrl: https://idp.example.com': lax(`issuerUrl: ${corpIssuer}`, 10),
    'authorizationEndpoint: https://chat.example.com/login/oauth/authorize': lax(
      `authorizationEndpoint: ${chat.authorizationEndpoint}`,
      10,
    ),
    'https://chat.example.com/api/oauth.v2.access': chat.tokenEndpoint,
    'https://chat.example.com/api/user': chat.userInfoEndpoint,
    "'sentinel-0.example.com:26379', 'sentinel-1.example.com:26379'": sentinels,
    'corp: placeholder': `corp: ${CORP_SECRET}`,
    'chat: placeholder': `chat: ${chat.clientSecret}`,
    'username: vmcp': 'username: default',
  });
}

describe('the example kubernetes-auth-server behind TLS', () => {
  const scope = blockScope();
  let issuer = '';
  let files: CredentialBackend;
  let posts: CredentialBackend;
  let chat: OAuth2Provider;
  let trio: SentinelTrio;
  let service: URL;

  beforeAll(async () => {
    const port = await freePort();
    issuer = `https://${HOST}:${String(port)}`;
    const redirectUri = `${issuer}/oauth/callback`;
    const corp = await startIdentityProvider(scope, { host: HOST, redirectUri });
    chat = await startOAuth2Provider(scope, 3_600, HOST);
    trio = await startSentinelTrio(scope, HOST);
    for (const { cli } of trio.servers) await cli('ACL', 'SETUSER', 'default', 'on', '>placeholder');
    files = await startCredentialBackend(scope, 'files', HOST);
    posts = await startCredentialBackend(scope, 'chat', HOST);
    for (const backend of [files, posts]) backend.refuses = (headers) => bearerOf(headers) === undefined;
    await cluster.namespace(scope, NAMESPACE);
    await cluster.apply(NAMESPACE, manifests(issuer, corp.issuer, chat, trio, [files, posts]));
    await cluster.condition(NAMESPACE, 'virtualmcpserver', 'office', { type: 'Ready' });
    service = new URL(await cluster.serviceUrl(NAMESPACE, 'vmcp-office'));
    await startTlsFront(scope, port, () => service);
  });

  it.each(SDKS)(
    'kubernetes-auth-server: %s logs in at both providers and calls each server with its own token',
    async (name, connectClient) => {
      const user = `ann-${name.replace(/\W/gu, '')}`;
      const client = await connectClient(scope, `${issuer}/mcp`, new ScriptedLogin(user));
      await client.call('files_whoami');
      await client.call('chat_whoami');
      const [corpToken, chatToken] = [credentialAt(files), credentialAt(posts)];
      expect(corpToken).toBeDefined();
      expect(corpToken).not.toBe(chatToken);
      expect(chat.userOf(chatToken ?? '')).toBe(user);
    },
  );

  it("a login at one pod is valid at the other, after a rollout and after the loss of the store's master", async () => {
    const login = new ScriptedLogin('bob');
    const [, sdk] = SDKS[0];
    await sdk(scope, `${issuer}/mcp`, login);
    const callAt = async (origin: string): Promise<string> => {
      const session = await openSession(`${origin}/mcp`, undefined, { authorization: `Bearer ${login.accessToken}` });
      return textOf(await session.call('chat_whoami'));
    };
    const podAddresses = async (): Promise<string[]> => {
      const selector = ['-l', 'app.kubernetes.io/instance=office', '--field-selector=status.phase=Running'];
      const path = '{range .items[*]}{.status.podIP}{" "}{end}';
      const text = await cluster.kubectl(['-n', NAMESPACE, 'get', 'pods', ...selector, '-o', `jsonpath=${path}`]);
      return text.trim().split(/\s+/u);
    };
    const rollout = (verb: string, ...flags: string[]) =>
      cluster.kubectl(['-n', NAMESPACE, 'rollout', verb, 'deployment/vmcp-office', ...flags]);
    // The server is ready with its first pod.
    await rollout('status', '--timeout=120s');
    await expect.poll(podAddresses).toHaveLength(2);
    for (const address of await podAddresses())
      expect(await eventually(`a call at ${address}`, () => callAt(`http://${address}:4483`))).toContain('opaque');

    await rollout('restart');
    await rollout('status', '--timeout=120s');
    await eventually('the login is still valid', async () => (await callAt(service.origin)).includes('opaque'));

    await (await trio.master()).kill();
    await eventually(
      'the login is valid after the failover',
      async () => (await callAt(service.origin)).includes('opaque'),
      {
        timeoutMs: 60_000,
        intervalMs: 500,
      },
    );
  });
});
