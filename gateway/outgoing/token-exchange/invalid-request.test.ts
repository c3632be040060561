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
    ['a type of token', { requested_token_type: 'jwt' }],
    ['a type of subject', { subject_token_type: 'jwt' }],
  ])('is the operator’s to mend where the configuration asks for %s that may be what is wrong', async (_, config) => {
    const { authenticator, endpoint, alice } = await exchanging(config);
    endpoint.answer = REFUSED;
    expect((await credentialError(() => authenticator.headers(alice))).fault).toBe('misconfigured');
  });

  it.each([{}, { audience: '', scopes: [], subject_token_type: 'access_token' }])(
    'is about the subject where nothing else is asked for: %j',
    async (config) => {
      const { authenticator, endpoint, alice } = await exchanging(config);
      endpoint.answer = REFUSED;
      expect((await credentialError(() => authenticator.headers(alice))).fault).toBe('reauthenticate');
    },
  );

  it('is about the subject where the same token was exchanged before', async () => {
    const { authenticator, endpoint, alice, now, advance } = await exchanging({ audience: 'orders' });
    endpoint.answer = numbered({ expires_in: 300 });
    await authenticator.headers(alice);
    advance(240_000);
    endpoint.answer = REFUSED;
    expect((await credentialError(() => authenticator.headers(alice))).fault).toBe('reauthenticate');
    const bob = callerOf('bob', now(), { token: alice.token });
    expect((await credentialError(() => authenticator.headers(bob))).fault).toBe('misconfigured');
  });

  it('is about the subject after a 401 of the backend to what the same token gave', async () => {
    const { authenticator, endpoint, alice } = await exchanging({ audience: 'orders' });
    authenticator.refused(alice, await authenticator.headers(alice));
    endpoint.answer = REFUSED;
    expect((await credentialError(() => authenticator.headers(alice))).fault).toBe('reauthenticate');
  });

  it('asks for no second login: the token that the first one gave was never exchanged', async () => {
    const { authenticator, endpoint, alice, now } = await exchanging({ audience: 'orders' });
    const { token } = callerOf('alice-after-login', now());
    authenticator.refused(alice, await authenticator.headers(alice));
    endpoint.answer = REFUSED;
    expect((await credentialError(() => authenticator.headers(alice))).fault).toBe('reauthenticate');
    expect((await credentialError(() => authenticator.headers({ ...alice, token }))).fault).toBe('misconfigured');
  });

  it('is about a subject that has expired meanwhile', async () => {
    const { authenticator, endpoint, now } = await exchanging({ audience: 'orders' });
    endpoint.answer = REFUSED;
    const late = callerOf('alice', now(), { expiresAt: now() - 1 });
    expect((await credentialError(() => authenticator.headers(late))).fault).toBe('reauthenticate');
  });
});
