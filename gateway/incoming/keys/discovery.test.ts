import { describe, expect, it } from 'vitest';
import { serveEndpoints, type EndpointsState } from '../../../e2e/harness/issuer-server.ts';
import { startIssuer } from '../../../e2e/harness/issuer.ts';
import { testScope } from '../../../e2e/harness/scope.ts';
import { wellKnownUrls } from './discovery.ts';
import { AUDIENCE, filesIn, requestsFor, validatorFor, verdictOn } from '../testdata/validator-under-test.ts';

const start = (path = '') => startIssuer(testScope(), { algorithms: ['ES256'], audience: AUDIENCE, path });

/** Starts a second server, which records its requests. */
async function watcher() {
  const state: EndpointsState = { behave: {}, delayMs: 0, redirectTo: undefined, seen: [] };
  const jwks = { name: 'jwks' as const, answer: () => ({ json: { keys: [] } }) };
  const { port } = await serveEndpoints(testScope(), { '/jwks': jwks }, state);
  return { url: `http://127.0.0.1:${String(port)}/jwks`, state };
}

describe('the well-known URLs of metadata', () => {
  it.each([
    ['https://a.example', ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']],
    ['https://a.example/', ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']],
    [
      'https://a.example/t/1',
      [
        '/.well-known/oauth-authorization-server/t/1',
        '/.well-known/openid-configuration/t/1',
        '/t/1/.well-known/openid-configuration',
      ],
    ],
    [
      'https://a.example:8443/t/',
      [
        '/.well-known/oauth-authorization-server/t',
        '/.well-known/openid-configuration/t',
        '/t/.well-known/openid-configuration',
      ],
    ],
  ])('are derived from the issuer %s', (issuer, paths) => {
    expect(wellKnownUrls(issuer)).toEqual(paths.map((path) => new URL(issuer).origin + path));
  });
});

describe('discovery', () => {
  it.each(['', '/tenant'])('finds the keys of an issuer with path "%s"', async (path) => {
    const issuer = await start(path);
    const { validator } = validatorFor(testScope(), issuer.url);
    expect(validator.issuer()).toBe(issuer.url);
    expect(await verdictOn(validator, issuer.token())).toBe('sub: ann');
  });

  it.each([
    ['trailing slash', (url: string) => `${url}/`],
    ['another host', () => 'https://evil.example'],
    ['missing', () => undefined],
    ['list', (url: string) => [url]],
  ])('stays unready when the issuer in the document is not the configured one: %s', async (_, other) => {
    const issuer = await start();
    issuer.discoveryOverrides = { issuer: other(issuer.url) };
    const { validator, elapse } = validatorFor(testScope(), issuer.url);
    expect(await verdictOn(validator, issuer.token())).toBe('down: discovery');
    expect(validator.status()).toMatchObject({ ready: false, reason: 'IssuerMismatch' });
    expect(requestsFor(issuer, 'jwks')).toBe(0);
    issuer.discoveryOverrides = {};
    elapse(1_000);
    expect(await verdictOn(validator, issuer.token())).toBe('sub: ann');
  });

  it('skips well-known URLs that do not return metadata', async () => {
    const issuer = await start('/tenant');
    let calls = 0;
    const answers = [
      { status: 500, body: 'x' },
      { body: '<html>', headers: { 'content-type': 'text/html' } },
      { json: { issuer: issuer.url, jwks_uri: issuer.jwksUrl } },
    ];
    issuer.behave = { discovery: () => answers[(calls += 1) - 1] ?? { status: 404 } };
    const { validator } = validatorFor(testScope(), issuer.url);
    expect(await verdictOn(validator, issuer.token())).toBe('sub: ann');
  });

  it('reports NoKeySet when the metadata has no jwks_uri', async () => {
    const issuer = await start();
    issuer.discoveryOverrides = { jwks_uri: undefined };
    const { validator } = validatorFor(testScope(), issuer.url);
    expect(await verdictOn(validator, issuer.token())).toBe('down: discovery');
    expect(validator.status()).toMatchObject({ reason: 'NoKeySet' });
  });

  it('reads the next document when the first lacks jwks_uri, and uses the introspection endpoint of the first', async () => {
    const issuer = await start();
    const answers = [
      { issuer: issuer.url, introspection_endpoint: issuer.introspectionUrl },
      { issuer: issuer.url, jwks_uri: issuer.jwksUrl },
    ];
    let calls = 0;
    issuer.behave = { discovery: () => ({ json: answers[calls++ % 2] }) };
    const secret = await filesIn(testScope(), { secret: 's3cret' });
    const oidc = { clientID: 'desk', clientSecretFile: secret.secret };
    const { validator } = validatorFor(testScope(), issuer.url, { oidc });
    expect(await verdictOn(validator, issuer.token())).toBe('sub: ann');
    await verdictOn(validator, 'opaque');
    expect([requestsFor(issuer, 'discovery'), requestsFor(issuer, 'introspection')]).toEqual([2, 1]);
  });

  it('is repeated after the key set could not be fetched', async () => {
    const issuer = await start();
    const { validator, elapse } = validatorFor(testScope(), issuer.url);
    issuer.discoveryOverrides = { jwks_uri: `${issuer.url}/nowhere` };
    expect(await verdictOn(validator, issuer.token())).toBe('down: keys');
    issuer.discoveryOverrides = {};
    elapse(1_000);
    expect(await verdictOn(validator, issuer.token())).toBe('sub: ann');
  });

  it('omits the query of the key set URL from logs and status because it may contain an API key', async () => {
    const issuer = await start();
    const jwksurl = `${issuer.jwksUrl}?api_key=s3cret`;
    issuer.behave = { jwks: 'status-404' };
    const { validator, log } = validatorFor(testScope(), issuer.url, { oidc: { jwksurl } });
    expect(await verdictOn(validator, issuer.token())).toBe('down: keys');
    expect(validator.status().message).toContain('/jwks answered 404');
    expect(JSON.stringify([log, validator.status()])).not.toContain('s3cret');
  });

  it('is skipped when the key set URL is configured', async () => {
    const issuer = await start();
    const { validator } = validatorFor(testScope(), issuer.url, { oidc: { jwksurl: issuer.jwksUrl } });
    expect(await verdictOn(validator, issuer.token())).toBe('sub: ann');
    expect(requestsFor(issuer, 'discovery')).toBe(0);
  });

  it.each([
    'http://10.0.0.1/jwks',
    'http://169.254.169.254/latest/meta-data',
    'http://[::ffff:10.0.0.1]/jwks',
    'http://0x0a000001/jwks',
    'https://user:pw@127.0.0.1/jwks',
    'file:///etc/passwd',
    'not a url',
  ])('rejects the unsafe key set URL %s', async (jwksUri) => {
    const issuer = await start();
    issuer.discoveryOverrides = { jwks_uri: jwksUri };
    const { validator } = validatorFor(testScope(), issuer.url);
    expect(await verdictOn(validator, issuer.token())).toBe('down: keys');
    expect(validator.status()).toMatchObject({ reason: 'AddressRefused' });
  });

  it('does not follow a redirect to another origin', async () => {
    const [issuer, other] = [await start(), await watcher()];
    issuer.behave = { jwks: 'redirect' };
    issuer.redirectTo = other.url;
    const { validator } = validatorFor(testScope(), issuer.url);
    expect(await verdictOn(validator, issuer.token())).toBe('down: keys');
    expect(other.state.seen).toEqual([]);
  });
});

describe('the token of authTokenFile', () => {
  it('is read again for each request and sent to configured hosts only', async () => {
    const [issuer, other] = [await start(), await watcher()];
    const { token: authTokenFile } = await filesIn(testScope(), { token: 'own-token-1\n' });
    const reads: string[] = [];
    const { validator, elapse } = validatorFor(testScope(), issuer.url, {
      oidc: { authTokenFile },
      deps: { readSecret: (file) => `own-token-${String(reads.push(file))}` },
    });
    await verdictOn(validator, issuer.token());
    issuer.discoveryOverrides = { jwks_uri: other.url };
    elapse(25 * 3_600_000);
    await verdictOn(validator, issuer.token({ exp: 9e9 }));
    const sent = issuer.seen.map(({ headers }) => headers.authorization);
    expect(new Set(sent).size).toBe(sent.length);
    expect(sent.every((header) => header?.startsWith('Bearer own-token-'))).toBe(true);
    expect(other.state.seen.length).toBeGreaterThan(0);
    expect(other.state.seen.map(({ headers }) => headers.authorization)).toEqual(other.state.seen.map(() => undefined));
  });

  it('makes discovery unavailable when its file is unreadable', async () => {
    const issuer = await start();
    const { validator } = validatorFor(testScope(), issuer.url, { oidc: { authTokenFile: '/nowhere/token' } });
    expect(await verdictOn(validator, issuer.token())).toBe('down: discovery');
    expect(validator.status()).toMatchObject({ reason: 'FileUnreadable' });
    expect(validator.status().message).toContain('/nowhere/token');
  });

  it('makes discovery unavailable for opaque tokens too when its file is unreadable', async () => {
    const issuer = await start();
    const { secret: clientSecretFile } = await filesIn(testScope(), { secret: 's3cret' });
    const oidc = { clientID: 'desk', clientSecretFile, authTokenFile: '/nowhere/token' };
    const { validator } = validatorFor(testScope(), issuer.url, { oidc });
    expect(await verdictOn(validator, 'opaque')).toBe('down: discovery');
  });
});
