import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { hostBackend } from '../../../../e2e/harness/backends/host.ts';
import { testScope } from '../../../../e2e/harness/scope.ts';
import { startAuthorizationServer } from '../testdata/authorization-server.ts';
import { completeLogin, startWorkload, toolNames, workload } from '../testdata/remote.ts';

/** A remote server with scripted answers by path; `/mcp` answers 401 with this challenge. */
async function scripted(
  challenge: string | ((origin: string) => string),
  documents: Readonly<Record<string, (origin: string) => object | number>> = {},
) {
  const asked: string[] = [];
  const answer = async (req: IncomingMessage, res: ServerResponse) => {
    const origin = `http://${req.headers.host ?? ''}`;
    const path = req.url ?? '';
    if (path === '/mcp') {
      const header = typeof challenge === 'string' ? challenge : challenge(origin);
      res.writeHead(401, { 'www-authenticate': header }).end();
      return;
    }
    asked.push(path);
    const document = documents[path]?.(origin) ?? 404;
    if (typeof document === 'number') res.writeHead(document).end();
    else res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
  };
  const { url } = await hostBackend(testScope(), '/mcp', answer);
  return { url, asked, open: workload(url).open };
}

const METADATA = '/.well-known/oauth-protected-resource';

describe('discovery', () => {
  it('finds an issuer with a path at all well-known URLs, and requests the scopes of the challenge', async () => {
    const issuer = (origin: string) => ({
      issuer: `${origin}/realms/one`,
      authorization_endpoint: `${origin}/realms/one/auth`,
      token_endpoint: `${origin}/realms/one/token`,
      registration_endpoint: `${origin}/register`,
    });
    const remote = await scripted('Bearer scope="tools:read tools:call", error="invalid_token"', {
      [METADATA]: (origin) => ({ resource: origin, authorization_servers: [`${origin}/realms/one`] }),
      '/realms/one/.well-known/openid-configuration': issuer,
      '/register': () => ({ client_id: 'registered' }),
    });
    const login = await remote.open();
    expect(remote.asked).toEqual([
      ...[`${METADATA}/mcp`, METADATA, '/.well-known/oauth-authorization-server/realms/one'],
      ...['/.well-known/openid-configuration/realms/one', '/realms/one/.well-known/openid-configuration', '/register'],
    ]);
    const { searchParams } = new URL((login.state() as { loginUrl: string }).loginUrl);
    expect([searchParams.get('scope'), searchParams.get('resource')]).toEqual([
      ...['tools:read tools:call', new URL(remote.url).origin],
    ]);
  });

  it('uses the default endpoints of the origin when there are no metadata', async () => {
    const remote = await scripted('Bearer', { '/register': () => ({ client_id: 'registered' }) });
    const url = new URL(((await remote.open()).state() as { loginUrl: string }).loginUrl);
    expect(url.origin + url.pathname).toBe(`${new URL(remote.url).origin}/authorize`);
    expect(url.searchParams.get('resource')).toBe(remote.url);
  });

  it('uses a realm that is an issuer', async () => {
    const server = await startAuthorizationServer(testScope());
    const remote = await scripted(`Bearer realm="${server.issuer}"`);
    expect((await remote.open()).state()).toMatchObject({
      loginUrl: expect.stringContaining(`${server.issuer}/auth?`),
    });
  });

  it.each([
    ['metadata of another resource', (origin: string) => ({ resource: `${origin}/mc`, authorization_servers: [origin] }), 'belong to another resource', false], // oxfmt-ignore
    ['a private authorization server', (origin: string) => ({ resource: origin, authorization_servers: ['http://10.1.2.3/'] }), '"10.1.2.3" is a private address', false], // oxfmt-ignore
    ['a metadata service', (origin: string) => ({ resource: origin, authorization_servers: ['http://169.254.169.254/'] }), 'which is never called', false], // oxfmt-ignore
    ['an authorization server without metadata', (origin: string) => ({ resource: origin, authorization_servers: [`${origin}/none`] }), 'has no metadata of an authorization server: set issuer', false], // oxfmt-ignore
    ['a server error', () => 503, 'answered 503', true],
  ])('fails for %s', async (_, document, message, isTemporary) => {
    const remote = await scripted((origin) => `Bearer resource_metadata="${origin}/meta"`, { '/meta': document });
    await expect(remote.open()).rejects.toMatchObject({ isTemporary, message: expect.stringContaining(message) });
  });

  it('follows a challenge to no address that the remote URL does not allow', async () => {
    const remote = await scripted('Bearer resource_metadata="http://192.168.0.1/meta"');
    await expect(remote.open()).rejects.toThrow('"192.168.0.1" is a private address');
  });

  it('needs no metadata of the remote server when the issuer is configured', async () => {
    const started = await startWorkload({}, { metadata: false });
    const { config, server, remote } = started;
    const login = await started.open({ config: { ...config(), issuer: server.issuer } });
    await completeLogin(login);
    expect(await toolNames(login, remote.url)).toContain('echo');
  });

  it('fails temporarily when the remote server cannot be reached', async () => {
    const { open } = workload('http://127.0.0.1:9/mcp');
    await expect(open()).rejects.toMatchObject({ isTemporary: true });
    await expect(workload('http://10.0.0.1/mcp').open()).rejects.toMatchObject({ isTemporary: false });
  });
});
