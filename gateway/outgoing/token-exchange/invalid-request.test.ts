import { describe, expect, it } from 'vitest';
import { createAuthenticator } from '../index.ts';
import { callerOf } from '../testdata/callers.ts';
import { credentialError, strategyWorld } from '../testdata/strategy-deps.ts';
import { json, numbered, tokenEndpoint } from '../testdata/token-endpoint.ts';

const REFUSED = json({ error: 'invalid_request' }, 400);

async function exchanging(config: Record<string, unknown> = {}) {
  const endpoint = await tokenEndpoint();
  const world = await strategyWorld();
  const alice = callerOf('alice', world.now());
  const entry = { type: 'token_exchange', token_url: endpoint.url, ...config };
  return { ...world, endpoint, alice, authenticator: createAuthenticator(entry, world.deps) };
}

/** RFC 8693 §2.2.2 demands it for a dead subject; Keycloak answers it to an audience that the client may not have too. */
describe('invalid_request', () => {
  it.each([
    ['an audience', { audience: 'orders' }],
    ['a resource', { resource: 'https://orders.example.com/mcp' }],
    ['scopes', { scopes: ['read'] }],
    ['a requested token type', { requested_token_type: 'jwt' }],
    ['a subject token type', { subject_token_type: 'jwt' }],
  ])('is a misconfiguration when the entry sets %s that may be the cause', async (_, config) => {
    const { authenticator, endpoint, alice } = await exchanging(config);
    endpoint.answer = REFUSED;
    expect((await credentialError(() => authenticator.headers(alice))).fault).toBe('misconfigured');
  });

  it.each([{}, { audience: '', scopes: [], subject_token_type: 'access_token' }])(
    'requires a new login when the entry sets nothing that may be the cause: %j',
    async (config) => {
      const { authenticator, endpoint, alice } = await exchanging(config);
      endpoint.answer = REFUSED;
      expect((await credentialError(() => authenticator.headers(alice))).fault).toBe('reauthenticate');
    },
  );

  it('requires a new login when the same subject token was exchanged before', async () => {
    const { authenticator, endpoint, alice, now, advance } = await exchanging({ audience: 'orders' });
    endpoint.answer = numbered({ expires_in: 300 });
    await authenticator.headers(alice);
    advance(240_000);
    endpoint.answer = REFUSED;
    expect((await credentialError(() => authenticator.headers(alice))).fault).toBe('reauthenticate');
    const bob = callerOf('bob', now(), { token: alice.token });
    expect((await credentialError(() => authenticator.headers(bob))).fault).toBe('misconfigured');
  });

  it('requires a new login when the backend answered 401 to a token from the same subject token', async () => {
    const { authenticator, endpoint, alice } = await exchanging({ audience: 'orders' });
    authenticator.refused(alice, await authenticator.headers(alice));
    endpoint.answer = REFUSED;
    expect((await credentialError(() => authenticator.headers(alice))).fault).toBe('reauthenticate');
  });

  it('requires no second login when the token of the first login was never exchanged', async () => {
    const { authenticator, endpoint, alice, now } = await exchanging({ audience: 'orders' });
    const { token } = callerOf('alice-after-login', now());
    authenticator.refused(alice, await authenticator.headers(alice));
    endpoint.answer = REFUSED;
    expect((await credentialError(() => authenticator.headers(alice))).fault).toBe('reauthenticate');
    expect((await credentialError(() => authenticator.headers({ ...alice, token }))).fault).toBe('misconfigured');
  });

  it('requires a new login when the subject token has expired', async () => {
    const { authenticator, endpoint, now } = await exchanging({ audience: 'orders' });
    endpoint.answer = REFUSED;
    const late = callerOf('alice', now(), { expiresAt: now() - 1 });
    expect((await credentialError(() => authenticator.headers(late))).fault).toBe('reauthenticate');
  });
});
