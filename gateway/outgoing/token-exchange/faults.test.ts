import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createAuthenticator } from '../index.ts';
import { callerOf } from '../testdata/callers.ts';
import { credentialError, strategyWorld } from '../testdata/strategy-deps.ts';
import { GOOD_REPLY, json, tokenEndpoint, type TokenAnswer } from '../testdata/token-endpoint.ts';

/** Secret that no error and no log line may contain. */
const CANARY = 'CANARY';

async function exchanging(answer: TokenAnswer, limits = {}, config = {}) {
  const endpoint = await tokenEndpoint(answer);
  const world = await strategyWorld(limits);
  const file = await world.secret('client', `${CANARY}-secret`);
  const entry = {
    type: 'token_exchange',
    token_url: endpoint.url,
    client_id: 'vmcp',
    client_secret_file: file,
    ...config,
  };
  const alice = callerOf(`${CANARY}-alice`, world.now());
  const authenticator = createAuthenticator(entry, world.deps);
  return { ...world, endpoint, alice, authenticator };
}

const raw =
  (status: number, headers: Record<string, string>, body: string | Buffer): TokenAnswer =>
  (res) =>
    res.writeHead(status, headers).end(body);

const good = (members: object) => json({ ...GOOD_REPLY, access_token: `${CANARY}-token`, ...members });
const oauthError = (status: number, error: unknown) => json({ error, error_description: CANARY }, status);
const HTML = `<html>${CANARY}</html>`;

/** The answer of the endpoint, the fault, and how often it is asked. */
const ANSWERS: readonly (readonly [string, TokenAnswer, string, number])[] = [
  ['HTML', raw(200, { 'content-type': 'text/html' }, HTML), 'misconfigured', 1],
  ['an empty reply', raw(200, { 'content-type': 'application/json' }, ''), 'misconfigured', 1],
  [
    'half a document',
    raw(200, { 'content-type': 'application/json' }, `{"access_token":"${CANARY}`),
    'misconfigured',
    1,
  ],
  ['a list', json([GOOD_REPLY]), 'misconfigured', 1],
  ['null', json(null), 'misconfigured', 1],
  ['200 with an error', json({ error: 'invalid_grant', error_description: CANARY }), 'misconfigured', 1],
  ['200 without access_token', good({ access_token: undefined }), 'misconfigured', 1],
  ['an empty access_token', good({ access_token: '' }), 'misconfigured', 1],
  ['an access_token that is not a string', good({ access_token: { CANARY } }), 'misconfigured', 1],
  ['no token_type', good({ token_type: undefined }), 'misconfigured', 1],
  ['token_type mac', good({ token_type: 'mac' }), 'misconfigured', 1],
  ['token_type DPoP', good({ token_type: 'DPoP' }), 'misconfigured', 1],
  ['token_type N_A', good({ token_type: 'N_A' }), 'misconfigured', 1],
  ['token_type 7', good({ token_type: 7 }), 'misconfigured', 1],
  ['no issued_token_type', good({ issued_token_type: undefined }), 'misconfigured', 1],
  [
    'a refresh token',
    good({ issued_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' }),
    'misconfigured',
    1,
  ],
  ['an ID token', good({ issued_token_type: 'urn:ietf:params:oauth:token-type:id_token' }), 'misconfigured', 1],
  ['a token with CR LF', good({ access_token: `${CANARY}\r\nX-Admin: yes` }), 'misconfigured', 1],
  ['a token with NUL', good({ access_token: `${CANARY}\0` }), 'misconfigured', 1],
  ['a token with a space', good({ access_token: `${CANARY} b` }), 'misconfigured', 1],
  ['201', json(GOOD_REPLY, 201), 'misconfigured', 1],
  ['204', raw(204, {}, ''), 'misconfigured', 1],
  ['a redirect', raw(302, { location: 'http://127.0.0.1:9/token' }, ''), 'misconfigured', 1],
  ['a redirect that keeps the form', raw(307, { location: 'http://127.0.0.1:9/token' }, ''), 'misconfigured', 1],
  ['2 MB', good({ padding: 'x'.repeat(2 * 1024 * 1024) }), 'misconfigured', 1],
  ['invalid_request', oauthError(400, 'invalid_request'), 'reauthenticate', 1],
  ['invalid_grant', oauthError(400, 'invalid_grant'), 'reauthenticate', 1],
  ['invalid_token', oauthError(401, 'invalid_token'), 'reauthenticate', 1],
  ['invalid_client', oauthError(401, 'invalid_client'), 'misconfigured', 1],
  ['invalid_target', oauthError(400, 'invalid_target'), 'misconfigured', 1],
  ['invalid_scope', oauthError(400, 'invalid_scope'), 'misconfigured', 1],
  ['unauthorized_client', oauthError(400, 'unauthorized_client'), 'misconfigured', 1],
  ['unsupported_grant_type', oauthError(400, 'unsupported_grant_type'), 'misconfigured', 1],
  ['an unknown error', oauthError(400, CANARY), 'misconfigured', 1],
  ['an error with the name of an Object.prototype member', oauthError(400, 'constructor'), 'misconfigured', 1],
  ['an error that is not a string', oauthError(400, { CANARY }), 'misconfigured', 1],
  ['400 with HTML', raw(400, { 'content-type': 'text/html' }, HTML), 'misconfigured', 1],
  ['access_denied', oauthError(403, 'access_denied'), 'misconfigured', 1],
  ['404', raw(404, {}, CANARY), 'misconfigured', 1],
  ['429', raw(429, { 'retry-after': '1' }, CANARY), 'unavailable', 1],
  ['temporarily_unavailable', oauthError(400, 'temporarily_unavailable'), 'unavailable', 1],
  ['500', raw(500, {}, CANARY), 'unavailable', 2],
  ['503 with invalid_grant', oauthError(503, 'invalid_grant'), 'unavailable', 2],
  ['a cut connection', (res) => res.destroy(), 'unavailable', 2],
  ['half a reply', (res) => cut(res), 'unavailable', 2],
];

function cut(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  res.write(`{"access_token":"${CANARY}`);
  setTimeout(() => res.destroy(), 20);
}

describe('the answer of a token endpoint', () => {
  it.each(ANSWERS)('fails the exchange without a secret in error or log: %s', async (_, answer, fault, asked) => {
    const { authenticator, endpoint, alice, logged } = await exchanging(answer);
    const error = await credentialError(() => authenticator.headers(alice));
    expect(error.fault).toBe(fault);
    expect(error.provider).toBeUndefined();
    expect(endpoint.seen).toHaveLength(asked);
    expect(`${error.message} ${JSON.stringify(error)} ${String(error.stack)} ${logged.join()}`).not.toContain(CANARY);
  });

  it.each(['bearer', 'BEARER'])('is accepted with token_type %s', async (token_type) => {
    const { authenticator, alice } = await exchanging(json({ ...GOOD_REPLY, token_type }));
    expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer exchanged' });
  });

  it('is accepted with an issued token of type jwt', async () => {
    const issued_token_type = 'urn:ietf:params:oauth:token-type:jwt';
    const { authenticator, alice } = await exchanging(json({ ...GOOD_REPLY, issued_token_type }));
    expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer exchanged' });
  });
});

describe('a requested token of type', () => {
  const URN = 'urn:ietf:params:oauth:token-type:';

  it.each([
    ['id_token', 'id_token', 'N_A'],
    ['id_token', 'id_token', 'Bearer'],
    ['jwt', 'jwt', 'N_A'],
    ['jwt', 'access_token', 'Bearer'],
  ])('%s is accepted when issued as %s with token_type %s', async (requested_token_type, issued, token_type) => {
    const answer = json({ ...GOOD_REPLY, issued_token_type: URN + issued, token_type });
    const { authenticator, alice } = await exchanging(answer, {}, { requested_token_type });
    expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer exchanged' });
  });

  it.each([
    ['id_token', 'access_token', 'Bearer'],
    ['id_token', 'jwt', 'Bearer'],
    ['id_token', 'id_token', 'DPoP'],
    ['jwt', 'access_token', 'N_A'],
    ['jwt', 'id_token', 'N_A'],
    ['access_token', 'jwt', 'N_A'],
  ])('%s is rejected when issued as %s with token_type %s', async (requested_token_type, issued, token_type) => {
    const answer = json({ ...GOOD_REPLY, issued_token_type: URN + issued, token_type });
    const { authenticator, alice } = await exchanging(answer, {}, { requested_token_type });
    expect((await credentialError(() => authenticator.headers(alice))).fault).toBe('misconfigured');
  });
});

describe('a failing token endpoint', () => {
  it.each<[string, TokenAnswer]>([
    ['status 500', raw(500, {}, '')],
    ['a cut connection', (res) => res.destroy()],
  ])('is called once more after a pause on %s', async (_, trouble) => {
    const { authenticator, endpoint, alice } = await exchanging(trouble);
    const startedAt = performance.now();
    setTimeout(() => (endpoint.answer = json(GOOD_REPLY)), 50);
    expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer exchanged' });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(100);
    expect(endpoint.seen).toHaveLength(2);
  });

  it('causes the fault reauthenticate when it rejects the subject at the second attempt', async () => {
    const { authenticator, endpoint, alice } = await exchanging(raw(502, {}, ''));
    setTimeout(() => (endpoint.answer = oauthError(400, 'invalid_grant')), 50);
    expect((await credentialError(() => authenticator.headers(alice))).fault).toBe('reauthenticate');
  });

  it('does not delay a call beyond the timeout', async () => {
    const { authenticator, endpoint, alice } = await exchanging(() => undefined, { timeoutMs: 200 });
    const { fault, message } = await credentialError(() => authenticator.headers(alice));
    expect([fault, endpoint.seen.length]).toEqual(['unavailable', 2]);
    expect(message).toContain('timeout');
  });

  it('does not affect users with cached tokens', async () => {
    const { authenticator, endpoint, alice, now } = await exchanging(json(GOOD_REPLY));
    const headers = await authenticator.headers(alice);
    endpoint.answer = raw(500, {}, '');
    expect((await credentialError(() => authenticator.headers(callerOf('bob', now())))).fault).toBe('unavailable');
    expect(authenticator.headers(alice)).toBe(headers);
  });

  it('causes the fault unavailable when it cannot be reached', async () => {
    const world = await strategyWorld();
    const entry = { type: 'token_exchange', token_url: 'http://127.0.0.1:9/token' };
    const authenticator = createAuthenticator(entry, world.deps);
    const error = await credentialError(() => authenticator.headers(callerOf('alice', world.now())));
    expect(error.fault).toBe('unavailable');
  });
});
