import { expect, it } from 'vitest';
import type { Outbound } from '../../../outbound/fetch.ts';
import { registerAtProvider } from './register.ts';

const metadata = {
  issuer: 'https://idp.example',
  registration_endpoint: 'https://idp.example/register',
  token_endpoint_auth_methods_supported: ['client_secret_basic'],
};
const KEYCLOAK = { status: 403, body: { error: 'insufficient_scope' } };
const SPRING = { status: 400, body: { error: 'invalid_scope' } };

/** Registers for these scopes at a provider that rejects what `refuses` says, and returns the scopes of each attempt. */
async function attempts(scopes: readonly string[], refuses: (scope: string | undefined) => typeof SPRING | undefined) {
  const seen: (string | undefined)[] = [];
  const request = (async ({ body = '' }) => {
    const { scope } = JSON.parse(String(body)) as { scope?: string };
    seen.push(scope);
    const { status, body: answer } = refuses(scope) ?? { status: 201, body: { client_id: 'vmcp' } };
    return { status, body: JSON.stringify(answer) };
  }) as Outbound['request'];
  const outbound = { request } as Outbound;
  const given = { metadata, outbound, redirectUri: 'https://vmcp.example/oauth/callback', scopes };
  const error = await registerAtProvider(given).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { seen, error };
}

it('registers once where the provider allows the scopes', async () => {
  expect((await attempts(['openid', 'mail'], () => undefined)).seen).toEqual(['openid mail']);
});

it('registers without openid where the provider rejects it', async () => {
  const { seen, error } = await attempts(['openid', 'mail'], (scope) =>
    scope?.includes('openid') === true ? KEYCLOAK : undefined,
  );
  expect([seen, error]).toEqual([['openid mail', 'mail'], undefined]);
});

it('registers without scopes where the provider rejects all', async () => {
  const { seen, error } = await attempts(['openid', 'mail'], (scope) => (scope === undefined ? undefined : SPRING));
  expect([seen, error]).toEqual([['openid mail', 'mail', undefined], undefined]);
  expect((await attempts(['openid'], (scope) => (scope === undefined ? undefined : SPRING))).seen).toEqual([
    'openid',
    undefined,
  ]);
});

it('rejects with the first rejection, and does not repeat a rejected initial access token', async () => {
  const { error } = await attempts(['openid'], (scope) => (scope === undefined ? SPRING : KEYCLOAK));
  expect(error).toMatchObject({ status: 403, providerError: 'insufficient_scope' });
  const rejected = { status: 401, body: { error: 'invalid_token' } };
  expect((await attempts(['openid', 'mail'], () => rejected)).seen).toEqual(['openid mail']);
});
