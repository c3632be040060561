import { expect, it } from 'vitest';
import { consentKey, mayRemember, type Consent } from './remembering.ts';

const CONSENT: Consent = {
  client: { client_id: 'vcl_1', source: 'registered' },
  redirectUri: 'https://client.example/cb',
  scopes: ['openid', 'tools'],
  resource: 'https://tools.example/mcp',
};
const key = (change: Partial<Consent>): string => consentKey({ ...CONSENT, ...change });
const at = (redirectUri: string, source: 'registered' | 'document' = 'registered'): Consent => ({
  ...CONSENT,
  redirectUri,
  client: { client_id: 'x', source },
});

it('knows a consent again', () => {
  expect(key({ scopes: ['tools', 'openid', 'tools'] })).toBe(consentKey(CONSENT));
  expect(key({ redirectUri: 'https://client.example/other?a=b' })).toBe(consentKey(CONSENT));
  const [one, other] = ['http://localhost:1000/cb', 'http://localhost:2000/cb'].map((redirectUri) =>
    key({ redirectUri }),
  );
  expect(one).toBe(other);
  expect(consentKey(CONSENT)).toMatch(/^[\w-]{43}$/u);
});

it('takes nothing else for it', () => {
  const others: readonly Partial<Consent>[] = [
    { client: { client_id: 'vcl_2', source: 'registered' } },
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

it('remembers no scheme that any app may claim, and strictly no stranger on this machine', () => {
  for (const strict of [true, false]) {
    expect(mayRemember(at('https://client.example/cb'), { strict })).toBe(true);
    expect(mayRemember(at('cursor://client.example/cb'), { strict })).toBe(false);
    expect(mayRemember(at('http://localhost/cb', 'document'), { strict })).toBe(true);
    expect(mayRemember(at('http://[::1]:3000/cb'), { strict })).toBe(!strict);
  }
});
