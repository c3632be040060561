import { describe, expect, it } from 'vitest';
import { createAuthenticator, readOutgoingEntry } from '../index.ts';
import { callerOf } from '../testdata/callers.ts';
import { credentialError, strategyWorld } from '../testdata/strategy-deps.ts';
import { GOOD_REPLY, json, numbered, tokenEndpoint } from '../testdata/token-endpoint.ts';

const SECRET = 'hunter-2';

/** Exchanges the token of a user who has just logged in; the endpoint gives `answer`. */
async function exchanging(answer = json(GOOD_REPLY), config: Record<string, unknown> = {}, age = 60) {
  const endpoint = await tokenEndpoint(answer);
  const world = await strategyWorld();
  const client_secret_file = await world.secret('client', SECRET);
  const client = { token_url: endpoint.url, client_id: 'vmcp', client_secret_file };
  const entry = { type: 'token_exchange', ...client, ...config };
  const alice = callerOf('alice', world.now(), { claims: { iat: world.now() / 1_000 - age } });
  return { ...world, endpoint, alice, authenticator: createAuthenticator(entry, world.deps) };
}

const refusal = (status: number, error: string, error_description: string) =>
  json({ error, error_description }, status);

/** Replies of Keycloak 26.7.3 and Dex to mistakes of an administrator, and the fields that the log advises to check. */
const MISTAKES: readonly (readonly [number, string, string, string])[] = [
  [401, 'unauthorized_client', 'Invalid client or Invalid client credentials', 'clientId'],
  [401, 'invalid_client', 'Invalid client credentials.', 'clientId'],
  [400, 'invalid_client', 'Audience not found', 'audience'],
  [400, 'invalid_request', 'Standard token exchange is not enabled for the requested client', 'audience'],
  [403, 'access_denied', 'Client is not within the token audience', 'audience'],
  [400, 'invalid_request', 'Requested audience not available: orders', 'audience'],
  [400, 'invalid_scope', 'Invalid scopes: read', 'scopes'],
  [400, 'invalid_token', 'Invalid token', 'audience'],
  [400, 'invalid_grant', 'Invalid subject token', 'audience'],
  [400, 'unsupported_grant_type', 'Unsupported grant_type', 'clientId'],
  [400, 'invalid_request', 'Missing required parameter: connector_id', 'audience'],
];

describe('a token endpoint that rejects the token of a user who logged in a minute ago', () => {
  it.each(MISTAKES)('with %i %s, "%s" is misconfigured', async (status, code, description, field) => {
    const { authenticator, alice } = await exchanging(refusal(status, code, description));
    const error = await credentialError(() => authenticator.headers(alice));
    expect(error.fault).toBe('misconfigured');
    expect(error.detail).toContain(`the token endpoint answered ${String(status)} ${code}: "${description}": `);
    expect(error.detail.slice(error.detail.lastIndexOf('"'))).toContain(field);
    expect(error.message).not.toContain(description);
  });

  it('stays misconfigured for that token', async () => {
    const { authenticator, alice, advance } = await exchanging(refusal(400, 'invalid_token', 'Invalid token'));
    for (let minute = 0; minute < 10; minute += 1) {
      expect((await credentialError(() => authenticator.headers(alice))).fault).toBe('misconfigured');
      advance(60_000);
    }
  });

  it('requires a new login when the token was exchanged before', async () => {
    const { authenticator, endpoint, alice, advance } = await exchanging(numbered({ expires_in: 61 }));
    await authenticator.headers(alice);
    advance(20_000);
    endpoint.answer = refusal(400, 'invalid_token', 'Invalid token');
    expect((await credentialError(() => authenticator.headers(alice))).fault).toBe('reauthenticate');
  });
});

describe('a token endpoint that rejects an older token', () => {
  it.each(['invalid_grant', 'invalid_token', 'invalid_request'])('with %s requires a new login', async (code) => {
    const { authenticator, alice } = await exchanging(refusal(400, code, 'Session not active'), {}, 600);
    const error = await credentialError(() => authenticator.headers(alice));
    expect(error.fault).toBe('reauthenticate');
    expect(error.detail).toContain('Session not active');
  });
});

it('a description appears without secrets of the request, long words and control characters', async () => {
  const description = `no client ${SECRET} for alice-token\n${'e'.repeat(40)} ü`;
  const { authenticator, alice } = await exchanging(refusal(400, 'invalid_request', description), {}, 600);
  const { detail } = await credentialError(() => authenticator.headers(alice));
  expect(detail).toContain('"no client [cut] for [cut]?[cut] ?"');
});

describe('the audience of an exchanged token', () => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const tokenFor = (aud: unknown): string => `${part({ alg: 'RS256' })}.${part({ aud })}.c2ln`;
  const warningsOf = async (config: Record<string, unknown>, access_token: string): Promise<string[]> => {
    const { authenticator, alice, logged } = await exchanging(json({ ...GOOD_REPLY, access_token }), config);
    await authenticator.headers(alice);
    return logged.filter((line) => line.includes('another audience'));
  };

  it.each([
    ['another audience', { audience: 'orders' }, tokenFor('account')],
    ['other audiences', { audience: 'orders' }, tokenFor(['account', 'vmcp'])],
    ['no audience', { audience: 'orders' }, tokenFor(undefined)],
    ['another resource', { resource: 'https://orders.example/mcp' }, tokenFor('account')],
  ])('is logged once when the token has %s', async (_, config, token) => {
    const lines = await warningsOf(config, token);
    expect(lines).toEqual([expect.stringContaining('the exchanged token has another audience than asked for')]);
    expect(lines[0]).not.toContain(token);
  });

  it.each([
    ['the audience', { audience: 'orders' }, tokenFor('orders')],
    ['the audience among others', { audience: 'orders' }, tokenFor(['account', 'orders'])],
    ['the audience but not the resource', { audience: 'orders', resource: 'https://a.example' }, tokenFor('orders')],
    ['any audience, and none was asked for', {}, tokenFor('account')],
    ['no claims', { audience: 'orders' }, 'opaque'],
  ])('is not logged when the token has %s', async (_, config, token) => {
    expect(await warningsOf(config, token)).toEqual([]);
  });
});

describe('additional parameters', () => {
  it('are sent beside the standard ones', async () => {
    const { authenticator, alice, endpoint } = await exchanging(undefined, {
      additional_params: { connector_id: 'corp' },
    });
    await authenticator.headers(alice);
    const form = endpoint.seen[0]?.form;
    expect([form?.get('connector_id'), form?.get('subject_token')]).toEqual(['corp', 'alice-token']);
  });

  it.each(['grant_type', 'subject_token', 'audience', 'scope', 'client_secret', 'client_assertion', 'actor_token'])(
    'may not set %s',
    (name) => {
      const entry = {
        type: 'token_exchange',
        token_url: 'https://a.example/token',
        additional_params: { [name]: 'x' },
      };
      expect(readOutgoingEntry(entry)).toEqual({
        problems: [expect.objectContaining({ path: `additional_params.${name}`, reason: 'InvalidValue' })],
      });
    },
  );
});
