import { describe, expect, it } from 'vitest';
import { createOutbound } from '../../outbound/fetch.ts';
import { createAuthority } from '../../outbound/testdata/authority.ts';
import { resolver, serve } from '../../outbound/testdata/servers.ts';
import { json, never, openidProvider, raw, SECRETS, type Answer } from './testdata/scripted-provider.ts';
import { fileWith, oidcEntry, upstreamError, upstreamFor } from './testdata/upstream-under-test.ts';
import { clientAnswer } from './upstream-error.ts';

const HUGE = 'x'.repeat(2 * 1024 * 1024);
const html = raw(200, { 'content-type': 'text/html' }, '<html>SAID</html>');

const drip: Answer = (res) => {
  res.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => res.write(' '), 50);
  res.once('close', () => {
    clearInterval(timer);
  });
};

/** Faulty replies of any endpoint that a login uses, and the error for the client. */
const FAULTS: readonly (readonly [string, Answer, string])[] = [
  ['no answer', never, 'temporarily_unavailable'],
  ['a very slow reply', drip, 'temporarily_unavailable'],
  ['a reset', (res) => res.destroy(), 'temporarily_unavailable'],
  ['500', raw(500, {}, 'SAID'), 'temporarily_unavailable'],
  ['503 with HTML', raw(503, { 'content-type': 'text/html' }, 'SAID'), 'temporarily_unavailable'],
  ['429', raw(429, {}, ''), 'temporarily_unavailable'],
  ['404', raw(404, {}, 'SAID'), 'server_error'],
  ['HTML', html, 'server_error'],
  ['2 MB', json({ keys: [], padding: HUGE }), 'server_error'],
  ['a truncated document', raw(200, { 'content-type': 'application/json' }, '{"keys": [SAID'), 'server_error'],
  ['a list', json([]), 'server_error'],
  ['an empty object', json({}), 'server_error'],
  ['a redirect to another origin', raw(302, { location: 'http://127.0.0.1:9/x' }), 'server_error'],
  ['an unknown status', raw(299, {}), 'server_error'],
];

describe.each(['openid-configuration', 'jwks', 'token'])('a provider whose %s endpoint misbehaves', (endpoint) => {
  it.each(FAULTS)('with %s', async (_name, fault, expected) => {
    const provider = await openidProvider();
    provider.answers[endpoint] = fault;
    const isWaitedFor = fault === never || fault === drip;
    const { upstream, logged } = upstreamFor(oidcEntry(provider), { timeoutMs: isWaitedFor ? 300 : 5_000 });
    const before = performance.now();
    const error = await upstreamError(() => upstream.login({ code: 'the-code' }, SECRETS));
    expect(clientAnswer(error.fault)).toBe(expected);
    expect(performance.now() - before).toBeLessThan(4_000);
    expect(`${error.message} ${logged.join()}`).not.toMatch(/SAID|the-code|access-1|refresh-1|vvvv/u);
  });
});

describe('redirects', () => {
  it('are followed to the same origin for documents, and never for a code', async () => {
    const provider = await openidProvider();
    const { 'openid-configuration': discovery, token } = provider.answers;
    provider.answers['openid-configuration'] = raw(301, { location: '/moved' });
    provider.answers['moved'] = discovery!;
    provider.answers['token'] = raw(307, { location: '/elsewhere' });
    provider.answers['elsewhere'] = token!;
    const { upstream } = upstreamFor(oidcEntry(provider));
    const error = await upstreamError(() => upstream.login({ code: 'c' }, SECRETS));
    expect(error.fault).toBe('bad_reply');
    expect(provider.seen.map(({ endpoint }) => endpoint)).toEqual(['openid-configuration', 'moved', 'token']);
  });
});

describe('internal addresses', () => {
  it.each(['https://10.0.0.1', 'https://169.254.169.254', 'https://[::ffff:10.0.0.1]', 'https://[fe80::1]'])(
    'are not requested as issuer: %s',
    async (issuer) => {
      const { upstream } = upstreamFor(oidcEntry({ issuer }));
      const error = await upstreamError(() => upstream.authorizationUrl(SECRETS));
      expect(error.fault).toBe('misconfigured');
    },
  );

  it('are not requested for a public issuer that resolves to them', async () => {
    const lookup = resolver(['127.0.0.1']);
    const { upstream } = upstreamFor(oidcEntry({ issuer: 'https://idp.example' }), {
      outbound: (options) => createOutbound({ ...options, lookup }),
    });
    expect((await upstreamError(() => upstream.authorizationUrl(SECRETS))).fault).toBe('misconfigured');
    expect(lookup.asked).toEqual(['idp.example']);
  });
});

describe('a provider with a private certificate', () => {
  it('is trusted only with the configured bundle', async () => {
    const authority = createAuthority('a test');
    let issuer = '';
    const { port } = await serve(
      (_req, res) => {
        const endpoints = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'].map((name) => [name, `${issuer}/x`]);
        res.setHeader('content-type', 'application/json');
        res.end(JSON.stringify({ issuer, ...Object.fromEntries(endpoints) }));
      },
      { tls: authority.sign('IP:127.0.0.1') },
    );
    issuer = `https://127.0.0.1:${String(port)}`;
    const trusting = upstreamFor(oidcEntry({ issuer }, { ca_file: await fileWith(authority.cert) }));
    expect(await trusting.upstream.authorizationUrl(SECRETS)).toContain(issuer);
    const { upstream } = upstreamFor(oidcEntry({ issuer }));
    expect((await upstreamError(() => upstream.authorizationUrl(SECRETS))).fault).toBe('unavailable');
  });
});
