import { describe, expect, it } from 'vitest';
import { checkClientIdUrl, isClientIdUrl, type HostPolicy } from './client-id-url.ts';

const OPEN: HostPolicy = { allowedHosts: [], deniedHosts: [], allowLoopbackHttp: false };

it('is recognised by its scheme', () => {
  for (const id of ['https://client.example/a', 'http://client.example/a', 'HTTPS://client.example/a'])
    expect(isClientIdUrl(id)).toBe(true);
  for (const id of ['vcl_abc', 'urn:x', 'https', 'https:/client.example', ' https://client.example/a'])
    expect(isClientIdUrl(id)).toBe(false);
});

it.each([
  'https://client.example/client.json',
  'https://client.example/a/b/',
  'https://client.example:8443/client.json',
  'https://client.example/client.json?v=1',
  'https://claude.ai/oauth/mcp-oauth-client-metadata',
  'https://vscode.dev/oauth/client-metadata.json',
])('%s may be fetched', (id) => {
  expect(checkClientIdUrl(id, OPEN)).toBeUndefined();
});
it.each([
  ['https://client.example', 'normal form'],
  ['https://client.example/', 'no path'],
  ['https://client.example/?a=b', 'no path'],
  ['http://client.example/a', 'not https'],
  ['http://localhost:3000/a', 'not https'],
  ['https://client.example/a#f', 'fragment'],
  ['https://client.example/a#', 'fragment'],
  ['https://user@client.example/a', 'user name'],
  ['https://user:pass@client.example/a', 'user name'],
  ['https://@client.example/a', 'normal form'],
  ['https://client.example/a/../b', 'normal form'],
  ['https://client.example/./b', 'normal form'],
  ['https://client.example/%2e%2E/b', 'normal form'],
  ['https://CLIENT.example/a', 'normal form'],
  ['https://client.example:443/a', 'normal form'],
  ['https://2130706433/a', 'normal form'],
  ['https://0x7f.1/a', 'normal form'],
  ['https://0177.0.0.1/a', 'normal form'],
  ['https://client.example\\a', 'characters'],
  ['https://client.example/ a', 'characters'],
  ['https://client.example/a\n', 'characters'],
  ['https://client.example/ü', 'characters'],
  ['https://client.example./a', 'dot at its end'],
  ['https://%/a', 'characters'],
  [`https://client.example/${'a'.repeat(2048)}`, 'too long'],
])('%j may not: %s', (id, why) => {
  expect(checkClientIdUrl(id, OPEN)).toContain(why);
});

describe('the host policy', () => {
  const check = (host: string, policy: Partial<HostPolicy>) =>
    checkClientIdUrl(`https://${host}/client.json`, { ...OPEN, ...policy }) === undefined;

  it('allows only listed hosts', () => {
    const policy = { allowedHosts: ['claude.ai', '*.Example.com'] };
    expect(['claude.ai', 'a.example.com', 'a.b.example.com'].every((host) => check(host, policy))).toBe(true);
    const others = ['www.claude.ai', 'example.com', 'evilexample.com', 'claude.ai.evil.example', 'x.example'];
    expect(others.some((host) => check(host, policy))).toBe(false);
  });

  it('gives denied hosts precedence', () => {
    const policy = { allowedHosts: ['*.example.com'], deniedHosts: ['bad.example.com', '*.worse.example'] };
    expect(check('bad.example.com', policy)).toBe(false);
    expect(check('good.example.com', policy)).toBe(true);
    expect(check('a.worse.example', { deniedHosts: policy.deniedHosts })).toBe(false);
    expect(check('good.example', { deniedHosts: policy.deniedHosts })).toBe(true);
  });

  it('allows http to loopback hosts for development only', () => {
    for (const host of ['localhost:1234', '127.0.0.1', '[::1]:80'].map((one) => one.replace(':80', ':8080')))
      expect(checkClientIdUrl(`http://${host}/a`, { ...OPEN, allowLoopbackHttp: true })).toBeUndefined();
    for (const host of ['client.example', '127.0.0.1.evil.example', '10.0.0.1', 'a.localhost'])
      expect(checkClientIdUrl(`http://${host}/a`, { ...OPEN, allowLoopbackHttp: true })).toContain('not https');
  });
});
