import type { ServerResponse } from 'node:http';
import express from 'express';
import { describe, expect, it } from 'vitest';
import { sendBytes, type BytesRequest } from '../../e2e/harness/clients/bytes.ts';
import { testScope } from '../../e2e/harness/scope.ts';
import { principalOfPair, Secret, type Identity } from '../contract/identity.ts';
import { listen } from '../listener.ts';
import { createBoundary, protectionOf, type AuthenticationOutcome, type Boundary } from './boundary.ts';
import { DependencyDown, TokenRefused } from './refusal.ts';
import type { IssuerValidator } from './token-validator.ts';

const RESOURCE = 'https://mcp.example/team/mcp';
const METADATA = 'https://mcp.example/.well-known/oauth-protected-resource/team/mcp';
const EXPOSED = 'WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version';
const CANARY = 'canary-0123456789';

const identityOf = (token: string, ...scopes: string[]): Identity => ({
  principal: principalOfPair('https://issuer.example', 'ann'),
  issuer: 'https://issuer.example',
  subject: 'ann',
  scopes: new Set(scopes),
  claims: {},
  token: new Secret(token),
  expiresAt: 0,
});

/** Judges tokens by their text. */
function judge(token: string): Identity | Promise<Identity> {
  if (token === 'slow') return new Promise((resolve) => setTimeout(() => resolve(identityOf(token, 'use')), 20));
  if (token === 'bad-later') return Promise.reject(new TokenRefused('signature'));
  if (token === 'elsewhere') throw new TokenRefused('audience', ['account', 7]);
  if (token === 'down') throw new DependencyDown('keys', 'the key set cannot be fetched', 7);
  if (token === 'down-later') return Promise.reject(new DependencyDown('introspection', 'no answer'));
  if (token.startsWith('bug')) throw new Error(`unexpected input "${token}"`);
  if (token === 'narrow') return identityOf(token, 'other');
  if (token !== 'good') throw new TokenRefused('inactive');
  return identityOf(token, 'use', 'write');
}

const ISSUER = 'https://issuer.example';

const validator: IssuerValidator = {
  issuer: () => ISSUER,
  validate: judge,
  liveness: () => true,
  warmUp: () => undefined,
  status: () => ({ ready: false, reason: 'KeysUnavailable', message: 'no keys yet' }),
  close: () => undefined,
};

interface Config {
  readonly scopes?: string[];
  readonly required?: string[];
  readonly resource?: string;
  readonly anonymous?: boolean;
  readonly issuer?: () => string | undefined;
  readonly rootAlias?: () => boolean;
}

/** A boundary in an application whose one route says who calls. */
async function start({ scopes, required, resource = RESOURCE, anonymous = false, ...more }: Config = {}) {
  const { issuer = () => ISSUER, rootAlias = () => true } = more;
  const lines: { level: string; message: string; facts: unknown }[] = [];
  const outcomes: AuthenticationOutcome[] = [];
  const log = (level: string) => (message: string, facts?: unknown) => void lines.push({ level, message, facts });
  const config = {
    name: 'team',
    oidc_config: { scopes },
    vmcp: { incoming: { type: 'oidc', required_scopes: required } },
  };
  const boundary: Boundary = createBoundary({
    protection: anonymous ? undefined : protectionOf(config, resource, { ...validator, issuer }, { rootAlias }),
    log: { error: log('error'), warn: log('warn'), debug: log('debug') },
    now: Date.now,
    onOutcome: (outcome) => outcomes.push(outcome),
  });
  const sync: boolean[] = [];
  const app = express().disable('x-powered-by');
  app.use((req, res, next) => boundary.metadata(req, res, next));
  app.use((req, res, next) => {
    let isIn = false;
    boundary.authenticate(req, res, () => {
      isIn = true;
      next();
    });
    sync.push(isIn);
  });
  app.use((req, res) => {
    if (req.path === '/lost') boundary.challenge(res, 'log in again at "hub\\one"\r\nX: y');
    else
      res.json({
        principal: res.locals['principal'],
        subject: (res.locals['identity'] as Identity | undefined)?.subject,
      });
  });
  const { port, close } = await listen(app, '127.0.0.1', 0);
  testScope().defer(close);
  const send = (request: BytesRequest) => sendBytes(port, request);
  const bearer = (token: string, path?: string) =>
    send({ lines: [`Authorization: Bearer ${token}`], ...(path !== undefined && { path }) });
  return { boundary, lines, outcomes, sync, send, bearer };
}

const shape = ({ status, headers, body }: Awaited<ReturnType<typeof sendBytes>>) => ({
  status,
  challenge: headers['www-authenticate'],
  error: (JSON.parse(body) as { error?: string }).error,
});

describe('bearer authentication', () => {
  const header = (value: string) => [`Authorization: ${value}`];
  it.each<[string, string[], number, string | undefined]>([
    ['absent', [], 401, undefined],
    ['empty', header(''), 401, undefined],
    ['of another scheme', header(`Basic ${CANARY}`), 401, undefined],
    ['of a scheme that starts with Bearer', header(`Bearers ${CANARY}`), 401, undefined],
    [
      'in another header',
      [`X-Authorization: Bearer ${CANARY}`, `Proxy-Authorization: Bearer ${CANARY}`],
      401,
      undefined,
    ],
    ['a scheme without a token', header('Bearer'), 400, 'invalid_request'],
    ['a scheme followed by blanks only', header('Bearer    '), 400, 'invalid_request'],
    ['in two headers', [...header(`Bearer ${CANARY}`), ...header(`Bearer ${CANARY}`)], 400, 'invalid_request'],
    [
      'in two headers that differ in case',
      [`authorization: Bearer good`, `AUTHORIZATION: Bearer good`],
      400,
      'invalid_request',
    ],
    ['in two headers, one of them empty', [...header('Bearer good'), ...header('')], 400, 'invalid_request'],
    ['two schemes', header(`Bearer Bearer ${CANARY}`), 400, 'invalid_request'],
    ['two tokens', header(`Bearer good ${CANARY}`), 400, 'invalid_request'],
    ['separated from the scheme by a tab', header(`Bearer\tgood`), 400, 'invalid_request'],
    ['a comma-separated list', header(`Bearer good, Bearer ${CANARY}`), 401, 'invalid_token'],
    ['a comma-separated list without blanks', header(`Bearer good,${CANARY}`), 401, 'invalid_token'],
    ['quoted', header(`Bearer "${CANARY}"`), 401, 'invalid_token'],
    ['a token with leading padding', header(`Bearer =${CANARY}`), 401, 'invalid_token'],
    ['not ASCII', header(`Bearer ${CANARY}\xe9`), 401, 'invalid_token'],
    ['a name and a value', header(`Bearer token=${CANARY};x`), 401, 'invalid_token'],
    ['longer than 16 KiB', header(`Bearer ${'a'.repeat(16_385)}`), 401, 'invalid_token'],
  ])('rejects credentials that are %s', async (_what, lines, status, error) => {
    const { send, outcomes, boundary, ...run } = await start();
    const answer = await send({ lines });
    const { challenge, ...rest } = shape(answer);
    expect(rest).toEqual({ status, error: error ?? 'unauthorized' });
    const told = error === undefined ? '' : `, error="${error}", error_description="[^"]+"`;
    expect(challenge).toMatch(new RegExp(`^Bearer resource_metadata="${METADATA}"${told}$`));
    expect(JSON.stringify([answer, run.lines])).not.toContain(CANARY);
    expect(outcomes).toHaveLength(1);
  });

  it.each(['Bearer', 'bearer', 'BEARER', 'bEaReR'])('accepts the scheme written as %s', async (scheme) => {
    const { send } = await start();
    expect((await send({ lines: [`Authorization: ${scheme}   good`] })).status).toBe(200);
  });

  it('ignores an access token in the query and in the form', async () => {
    const { send } = await start();
    const lines = ['Content-Type: application/x-www-form-urlencoded'];
    const answer = await send({ path: '/mcp?access_token=good', lines, body: 'access_token=good' });
    expect(shape(answer)).toEqual({
      status: 401,
      challenge: `Bearer resource_metadata="${METADATA}"`,
      error: 'unauthorized',
    });
  });
});

describe('a token', () => {
  it('is accepted synchronously when the validator answers at once', async () => {
    const { bearer, sync, outcomes } = await start({ required: ['use'] });
    const { status, body } = await bearer('good');
    expect({ status, body: JSON.parse(body) as unknown }).toEqual({
      status: 200,
      body: { principal: '22:https://issuer.exampleann', subject: 'ann' },
    });
    expect({ sync, outcomes }).toEqual({ sync: [true], outcomes: ['accepted'] });
  });

  it('is accepted asynchronously when the validator answers later', async () => {
    const { bearer, sync, outcomes } = await start({ required: ['use'] });
    expect((await bearer('slow')).status).toBe(200);
    expect({ sync, outcomes }).toEqual({ sync: [false], outcomes: ['accepted'] });
  });

  it.each(['bad', 'bad-later'])('is rejected with 401 and a description that hides the reason: %s', async (token) => {
    const { bearer, outcomes, lines } = await start({ scopes: ['use', 'offline_access'] });
    const answer = await bearer(token);
    const description = 'the token is not valid here: log in again';
    expect(answer.headers).toMatchObject({
      'www-authenticate': `Bearer resource_metadata="${METADATA}", scope="use", error="invalid_token", error_description="${description}"`,
      'cache-control': 'no-store',
      'access-control-expose-headers': EXPOSED,
      'content-type': 'application/json; charset=utf-8',
    });
    expect(JSON.parse(answer.body)).toEqual({ error: 'invalid_token', error_description: description });
    expect(outcomes).toEqual(['invalid_token']);
    expect(lines).toEqual([]); // the line of a refusal is that of `logRefusals`
  });

  it('gets 403 with all required scopes when it lacks one of them', async () => {
    const { bearer, outcomes } = await start({ required: ['use', 'write'], scopes: ['profile'] });
    const answer = await bearer('narrow');
    expect(shape(answer)).toEqual({
      status: 403,
      challenge: expect.stringMatching(
        new RegExp(
          `^Bearer resource_metadata="${METADATA}", scope="use write", error="insufficient_scope", error_desc`,
        ),
      ),
      error: 'insufficient_scope',
    });
    expect(outcomes).toEqual(['insufficient_scope']);
  });

  it.each([
    ['down', '7'],
    ['down-later', '5'],
  ])('gets 503 without a challenge when a dependency of the validator is down: %s', async (token, retryAfter) => {
    const { bearer, outcomes, lines } = await start();
    const [answer] = [await bearer(token), await bearer(token), await bearer(token)];
    expect(shape(answer)).toEqual({ status: 503, challenge: undefined, error: 'temporarily_unavailable' });
    expect(answer.headers).toMatchObject({ 'retry-after': retryAfter, 'cache-control': 'no-store' });
    expect(outcomes).toEqual(['unavailable', 'unavailable', 'unavailable']);
    expect(lines).toEqual([expect.objectContaining({ level: 'warn' })]); // said once, however many requests
  });

  it('gets 500 on an internal error, whose message is not logged because it may contain the token', async () => {
    const { bearer, lines, outcomes } = await start();
    const answer = await bearer(`bug.${CANARY}`);
    expect(shape(answer)).toEqual({ status: 500, challenge: undefined, error: 'server_error' });
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'error',
        facts: { error: expect.stringMatching(/^Error\n\s+at Object.judge/), request_id: '' },
      }),
    ]);
    expect(JSON.stringify([answer, lines])).not.toContain(CANARY);
    expect(outcomes).toEqual(['fault']);
  });
});

describe('a challenge during a call', () => {
  it('contains the given description with quotes escaped and line breaks removed', async () => {
    const { bearer } = await start({ scopes: ['use'] });
    const answer = await bearer('good', '/lost');
    expect(answer.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${METADATA}", scope="use", error="invalid_token", error_description="log in again at \\"hub\\\\one\\"X: y"`,
    );
    expect(shape(answer)).toMatchObject({ status: 401, error: 'invalid_token' });
  });

  it('is not written into a response that has started', async () => {
    const { boundary } = await start();
    let writes = 0;
    const begun = { headersSent: true, destroyed: false, setHeader: () => (writes += 1) } as unknown as ServerResponse;
    boundary.challenge(begun, 'too late');
    expect(writes).toBe(0);
  });
});

describe('protected resource metadata', () => {
  const WELL_KNOWN = '/.well-known/oauth-protected-resource';
  const document = {
    resource: RESOURCE,
    authorization_servers: ['https://issuer.example'],
    bearer_methods_supported: ['header'],
    resource_name: 'team',
  };

  it.each([`${WELL_KNOWN}/team/mcp`, WELL_KNOWN, `${WELL_KNOWN}?x=y`])(
    'is served at %s, independent of the Host header',
    async (path) => {
      const { send, outcomes } = await start();
      const lines = ['X-Forwarded-Host: evil.example', 'X-Forwarded-Proto: ftp', 'Origin: https://anywhere.example'];
      const answer = await send({ method: 'GET', path, lines, host: 'evil.example' });
      expect(JSON.parse(answer.body)).toEqual(document);
      expect(answer).toMatchObject({
        status: 200,
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'cache-control': 'public, max-age=3600',
          'access-control-allow-origin': '*',
        },
      });
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
      expect(outcomes).toEqual([]);
    },
  );

  it.each(['XYZ/anything', 'x', '/', '/team', '/team/mcp/x', '/team/mcp//', '/Team/mcp', '//team/mcp', '/team%2fmcp'])(
    'is not served at …%s',
    async (suffix) => {
      const { send } = await start();
      const { status, body } = await send({ method: 'GET', path: WELL_KNOWN + suffix });
      expect({ status, body }).toEqual({ status: 404, body: '{"error":"not_found"}' });
    },
  );

  it('is served at the bare path only while its origin has no other resource', async () => {
    let alone = false;
    const { send } = await start({ rootAlias: () => alone });
    const statusAt = async (path: string) => (await send({ method: 'GET', path })).status;
    expect([await statusAt(WELL_KNOWN), await statusAt(`${WELL_KNOWN}/team/mcp`)]).toEqual([404, 200]);
    alone = true;
    expect(await statusAt(WELL_KNOWN)).toBe(200);
  });

  it('of a bare origin is served at the bare path even if the origin has other resources', async () => {
    const { send } = await start({ resource: 'https://mcp.example', rootAlias: () => false });
    expect((await send({ method: 'GET', path: WELL_KNOWN })).status).toBe(200);
  });

  it('must not be cached while the issuer is unknown', async () => {
    const found: string[] = [];
    const { send } = await start({ issuer: () => found[0] });
    const { headers, body } = await send({ method: 'GET', path: WELL_KNOWN });
    expect([headers['cache-control'], JSON.parse(body)]).toEqual([
      'no-store',
      { ...document, authorization_servers: undefined },
    ]);
    found.push(ISSUER);
    expect((await send({ method: 'GET', path: WELL_KNOWN })).headers['cache-control']).toBe('public, max-age=3600');
  });

  it('lists the configured and the required scopes without offline_access', async () => {
    const { send } = await start({ scopes: ['use', 'offline_access'], required: ['write', 'use'] });
    const { body } = await send({ method: 'GET', path: WELL_KNOWN });
    expect(JSON.parse(body)).toEqual({ ...document, scopes_supported: ['use', 'write'] });
  });

  it.each([
    ['https://mcp.example', 'https://mcp.example/.well-known/oauth-protected-resource', WELL_KNOWN],
    ['https://mcp.example/', 'https://mcp.example/.well-known/oauth-protected-resource', WELL_KNOWN],
    [
      'http://127.0.0.1:4483/mcp',
      'http://127.0.0.1:4483/.well-known/oauth-protected-resource/mcp',
      `${WELL_KNOWN}/mcp`,
    ],
    [
      'https://mcp.example/a%20b/mcp',
      'https://mcp.example/.well-known/oauth-protected-resource/a%20b/mcp',
      `${WELL_KNOWN}/a%20b/mcp`,
    ],
  ])('contains the resource %s byte for byte', async (resource, url, path) => {
    const { send } = await start({ resource });
    expect((await send({})).headers['www-authenticate']).toBe(`Bearer resource_metadata="${url}"`);
    const { body } = await send({ method: 'GET', path });
    expect(JSON.parse(body)).toMatchObject({ resource });
  });

  it.each([
    ['http://127.0.0.1:4483/mcp', '/mcp', '/mcp/'],
    ['http://127.0.0.1:4483/mcp/', '/mcp/', '/mcp'],
    ['https://mcp.example/team/mcp', '/mcp', '/mcp/'],
  ])('of %s names the spelling that the client calls: with or without a slash', async (resource, own, other) => {
    const { send } = await start({ resource });
    const spelled = resource.endsWith('/') ? resource.slice(0, -1) : `${resource}/`;
    for (const [called, name] of [
      [own, resource],
      [other, spelled],
      [`${other}?x=1`, spelled],
    ] as const) {
      // oxfmt-ignore
      const { headers } = await send({ path: called });
      const url = /resource_metadata="([^"]+)"/u.exec(String(headers['www-authenticate']))?.[1] ?? '';
      expect(url).toBe(name.replace(/(?<=[^/])\/(?=[^/])/u, `${WELL_KNOWN}/`));
      const { body } = await send({ method: 'GET', path: new URL(url).pathname });
      expect(JSON.parse(body)).toEqual({ ...JSON.parse(body), resource: name });
    }
    const { headers } = await send({ path: own === '/mcp' ? '/sse/' : '/sse' });
    expect(headers['www-authenticate']).toContain(`${new URL(resource).pathname}"`);
  });

  it.each(['https://mcp.example', 'https://mcp.example/'])('of %s has one spelling', async (resource) => {
    const { send } = await start({ resource });
    for (const path of [`${WELL_KNOWN}/`, `${WELL_KNOWN}//`, `${WELL_KNOWN}/x`])
      expect((await send({ method: 'GET', path })).status).toBe(404);
  });

  it('supports HEAD and OPTIONS, and rejects POST, PUT and DELETE', async () => {
    const { send } = await start();
    const head = await send({ method: 'HEAD', path: WELL_KNOWN });
    expect(head).toMatchObject({ status: 200, body: '', headers: { 'cache-control': 'public, max-age=3600' } });
    const options = await send({ method: 'OPTIONS', path: WELL_KNOWN });
    expect(options).toMatchObject({
      status: 204,
      headers: {
        'access-control-allow-methods': 'GET, OPTIONS',
        'access-control-allow-headers': 'mcp-protocol-version, content-type, authorization',
        'access-control-max-age': '86400',
      },
    });
    for (const method of ['POST', 'PUT', 'DELETE'])
      expect(await send({ method, path: WELL_KNOWN })).toMatchObject({
        status: 405,
        headers: { allow: 'GET, HEAD, OPTIONS' },
      });
  });
});

describe('an anonymous boundary', () => {
  it('accepts every request as one principal and ignores credentials', async () => {
    const { send, outcomes, boundary } = await start({ anonymous: true });
    for (const lines of [[], [`Authorization: Bearer ${CANARY}`]]) {
      const { status, body } = await send({ lines });
      expect({ status, body }).toEqual({ status: 200, body: '{"principal":"anonymous"}' });
    }
    expect(outcomes).toEqual(['accepted', 'accepted']);
    expect(boundary.status()).toEqual({ ready: true });
  });

  it('serves no metadata', async () => {
    const { send } = await start({ anonymous: true });
    const { status, body } = await send({ method: 'GET', path: '/.well-known/oauth-protected-resource/mcp' });
    expect({ status, body }).toEqual({ status: 404, body: '{"error":"not_found"}' });
  });
});

it('returns the status of the validator', async () => {
  const { boundary } = await start();
  expect(boundary.status()).toEqual({ ready: false, reason: 'KeysUnavailable', message: 'no keys yet' });
});

it('the first bearer token for another audience shows its aud in the log at debug', async () => {
  const { bearer, lines } = await start();
  await bearer('elsewhere');
  await bearer('elsewhere');
  const shown = lines.filter(({ message }) => message === 'bearer token has another audience');
  expect(shown).toEqual([
    { level: 'debug', message: expect.any(String) as unknown, facts: { aud: ['account', 'number'] } },
  ]);
});
