import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { createAuthenticator } from '../index.ts';
import { callerOf } from '../testdata/callers.ts';
import { credentialError, strategyWorld } from '../testdata/strategy-deps.ts';
import { GOOD_REPLY, json, numbered, tokenEndpoint } from '../testdata/token-endpoint.ts';

const refusing = (error: string, status = 400) => json({ error }, status);

async function exchanging(config: Record<string, unknown> = {}) {
  const endpoint = await tokenEndpoint();
  const world = await strategyWorld();
  const alice = callerOf('alice', world.now());
  const client_secret_file = await world.secret('client', 'wrong');
  const entry = { type: 'token_exchange', token_url: endpoint.url, client_id: 'c', client_secret_file, ...config };
  const authenticator = createAuthenticator(entry, world.deps);
  const fault = async (caller = alice) => (await credentialError(() => authenticator.headers(caller))).fault;
  return { ...world, endpoint, entry, alice, client_secret_file, authenticator, fault };
}

describe('a token endpoint that rejects the client of the gateway', () => {
  it.each(['invalid_client', 'unauthorized_client', 'unsupported_grant_type'])(
    'with %s is not called again for 5 s for any user',
    async (error) => {
      const { authenticator, endpoint, alice, now, advance, fault } = await exchanging();
      endpoint.answer = refusing(error);
      expect(await fault()).toBe('misconfigured');
      expect(await fault(callerOf('bob', now()))).toBe('misconfigured');
      advance(4_999);
      expect(await fault()).toBe('misconfigured');
      expect(endpoint.seen).toHaveLength(1);
      endpoint.answer = json(GOOD_REPLY);
      advance(1);
      expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer exchanged' });
    },
  );

  it('is called again at once when the secret in the file has changed', async () => {
    const { authenticator, endpoint, alice, client_secret_file, advance, fault } = await exchanging();
    endpoint.answer = refusing('invalid_client', 401);
    await fault();
    await writeFile(client_secret_file, 'the right one');
    endpoint.answer = json(GOOD_REPLY);
    advance(1_000);
    expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer exchanged' });
    expect(endpoint.seen).toHaveLength(2);
  });

  it('does not affect users with cached tokens or other backends', async () => {
    const { authenticator, endpoint, entry, deps, alice, now, fault } = await exchanging();
    const headers = await authenticator.headers(alice);
    endpoint.answer = refusing('invalid_client', 401);
    expect(await fault(callerOf('bob', now()))).toBe('misconfigured');
    expect(authenticator.headers(alice)).toBe(headers);
    endpoint.answer = json(GOOD_REPLY);
    const other = createAuthenticator({ ...entry, audience: 'other' }, deps);
    expect(await other.headers(alice)).toEqual({ authorization: 'Bearer exchanged' });
  });
});

describe('a token endpoint that rejects an exchange', () => {
  it.each([
    ['invalid_grant', 'reauthenticate'],
    ['invalid_target', 'misconfigured'],
    ['invalid_scope', 'misconfigured'],
    ['access_denied', 'misconfigured'],
  ])('with %s is called again after 2 s for this token, and at once for others', async (error, expected) => {
    const { authenticator, endpoint, alice, now, advance, fault } = await exchanging();
    endpoint.answer = refusing(error);
    expect(await fault()).toBe(expected);
    endpoint.answer = numbered();
    advance(1_999);
    expect(await fault()).toBe(expected);
    const afterLogin = callerOf('alice', now(), { token: callerOf('new', now()).token });
    for (const other of [
      callerOf('bob', now()),
      callerOf('bob', now(), { token: alice.token }),
      callerOf('alice', now(), { tsid: 'another-login' }),
      afterLogin,
    ]) {
      expect(await authenticator.headers(other)).toHaveProperty('authorization');
    }
    expect(endpoint.seen).toHaveLength(5);
    advance(1);
    expect(await authenticator.headers(alice)).toHaveProperty('authorization');
  });

  it('causes an error that names the provider of the subject each time', async () => {
    const { authenticator, endpoint, alice, tokens } = await exchanging({ subject_provider_name: 'corp' });
    tokens.put({ tsid: 'tsid-of-alice', subject: 'alice', clientId: 'desktop' }, 'corp', { accessToken: 'stored' });
    endpoint.answer = refusing('invalid_grant');
    for (let count = 0; count < 2; count += 1) {
      const error = await credentialError(() => authenticator.headers(alice));
      expect(error).toMatchObject({ fault: 'reauthenticate', provider: 'corp' });
    }
    expect(endpoint.seen).toHaveLength(1);
  });
});

it.each([
  ['a temporary error', refusing('temporarily_unavailable')],
  ['an invalid reply', json('<html>', 404)],
])('a token endpoint that answers with %s is called again for the next request', async (_, answer) => {
  const { authenticator, endpoint, alice, fault } = await exchanging();
  endpoint.answer = answer;
  await fault();
  endpoint.answer = json(GOOD_REPLY);
  expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer exchanged' });
});
