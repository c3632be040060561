import { expect, it } from 'vitest';
import { consentKey, isTrusted, mayRemember, type Consent } from './remembering.ts';

const CONSENT: Consent = {
  clientId: 'vcl_1',
  redirectUri: 'https://client.example/cb',
  scopes: ['openid', 'tools'],
  resource: 'https://tools.example/mcp',
};
const key = (change: Partial<Consent>): string => consentKey({ ...CONSENT, ...change });

it('returns the same key for the same consent', () => {
  expect(key({ scopes: ['tools', 'openid', 'tools'] })).toBe(consentKey(CONSENT));
  expect(key({ redirectUri: 'https://client.example/other?a=b' })).toBe(consentKey(CONSENT));
  const [one, other] = ['http://localhost:1000/cb', 'http://localhost:2000/cb'].map((redirectUri) =>
    key({ redirectUri }),
  );
  expect(one).toBe(other);
  expect(consentKey(CONSENT)).toMatch(/^[\w-]{43}$/u);
});

it('returns another key for another consent', () => {
  const others: readonly Partial<Consent>[] = [
    { clientId: 'vcl_2' },
    { redirectUri: 'https://evil.example/cb' },
    { redirectUri: 'http://localhost/cb' },
    { redirectUri: 'https://localhost/cb' },
    { redirectUri: 'http://127.0.0.1/cb' },
    { redirectUri: 'cursor://client.example/cb' },
    { scopes: ['openid'] },
    { scopes: ['openid', 'tools', 'email'] },
    { scopes: ['openid tools'] },
    { scopes: [] },
    { resource: 'https://tools.example/other' },
  ];
  expect(new Set([CONSENT, ...others].map(key)).size).toBe(others.length + 1);
});

it.each([
  ['https://client.example/cb', true],
  ['http://localhost/cb', true],
  ['http://[::1]:3000/cb', true],
  ['cursor://client.example/cb', false],
])('remembers no private-use URI scheme: %s', (redirectUri, remembered) => {
  expect(mayRemember({ redirectUri }, 'remember')).toBe(remembered);
  expect(mayRemember({ redirectUri }, 'always')).toBe(false);
  expect(mayRemember({ redirectUri }, 'trusted-only')).toBe(false);
});

it.each([
  ['always', false],
  ['remember', true],
  ['trusted-only', true],
] as const)('with mode %s asks about a client that the operator trusts: not %s', (mode, trusted) => {
  const trustedClients = new Set(['mine']);
  expect(isTrusted('mine', { mode, trustedClients })).toBe(trusted);
  expect(isTrusted('vcl_1', { mode, trustedClients })).toBe(false);
});

it('trusts clients by their id, by a pattern and by the host of their document', () => {
  const trusts = (entry: string, clientId: string): boolean =>
    isTrusted(clientId, { mode: 'trusted-only', trustedClients: new Set(['vcl_other', entry]) });
  const id = 'https://codex.example/clients/3f9a/client.json';
  for (const entry of [id, 'codex.example', 'https://codex.example/clients/*']) expect(trusts(entry, id)).toBe(true);
  for (const entry of ['vcl_1', 'example', 'https://codex.example/other/*']) expect(trusts(entry, id)).toBe(false);
  expect(trusts('vcl_1', 'vcl_1')).toBe(true);
});
