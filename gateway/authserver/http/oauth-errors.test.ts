import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import express from 'express';
import { expect, it, onTestFinished } from 'vitest';
import { type Operation, redirectTo, sendJson } from '../../http/endpoint/operation.ts';
import { route } from '../../http/endpoint/router.ts';
import { sendAddedHeaders, requestId } from '../../http/head/added-headers.ts';
import type { AuthServerEvent } from '../events.ts';
import { StoreUnavailable } from '../storage/store.ts';
import { oauthErrors } from './oauth-errors.ts';
import { PageRefused, Refused } from './refused.ts';
import { readForm } from './requests.ts';

type Handler = Operation['handle'];

const throwing = (thrown: unknown): Handler => {
  return () => {
    throw thrown;
  };
};
const form: Handler = async (req, res) => {
  sendJson(res, 200, { a: (await readForm(req)).one('a') });
};

const json = (method: 'GET' | 'POST', path: string, handle: Handler, head = false): Operation => ({
  ...{ method, paths: [path], cors: true, head, handle },
});
const page = (path: string, handle: Handler): Operation[] => [
  { method: 'GET', paths: [path], answers: 'page', handle },
  { method: 'POST', paths: [path], answers: 'page', handle },
];

const OPERATIONS: readonly Operation[] = [
  json('POST', '/form', form),
  json('GET', '/read', (_req, res) => sendJson(res, 200, { read: true }), true),
  json('POST', '/things', form),
  json('GET', '/things/{id}', (req, res) => sendJson(res, 200, { path: req.path })),
  json('GET', '/slash/', (_req, res) => sendJson(res, 200, { slash: true })),
  json('GET', '/internal', throwing(new Error('password=hunter2 at /srv/app'))),
  json('GET', '/odd', throwing('a text')),
  json('GET', '/store', throwing(new StoreUnavailable('redis.internal:6379'))),
  json('GET', '/late', (_req, res) => {
    res.write('half');
    throw new Error('late');
  }),
  ...page('/page/store', throwing(new StoreUnavailable('redis.internal:6379'))),
  ...page('/page/internal', throwing(new Error('secret'))),
  ...page('/page/limit', throwing(new Refused('rate_limited', { retryAfterSeconds: 7 }))),
  ...page('/page/own', throwing(new PageRefused('other_browser'))),
  ...page('/page/form', form),
  ...page('/page/redirect', (_req, res) => {
    redirectTo(res, 'https://client.example/cb?code=x');
  }),
];

async function listen() {
  const logged: string[] = [];
  const events: [AuthServerEvent, unknown][] = [];
  const line = (message: string, facts: object = {}) => void logged.push(`${message} ${JSON.stringify(facts)}`);
  const log = { error: line, warn: line, info: line, debug: line };
  const emit = (event: AuthServerEvent, facts?: unknown): void => void events.push([event, facts]);
  const app = express();
  sendAddedHeaders(app);
  app.use((req, _res, next) => {
    req.headers['x-request-id'] = 'r-42';
    next();
  }, requestId('r'));
  app.use(route(OPERATIONS, oauthErrors({ server: 'gateway.example', emit, log })));
  app.use((_req, res) => void res.status(404).send('handed on'));
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`http://127.0.0.1:${String(port)}${path}`, { redirect: 'manual', ...init });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return { ask, port, logged, events };
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

it.each([
  ['/form', 'GET', 'POST, OPTIONS'],
  ['/form', 'HEAD', 'POST, OPTIONS'],
  ['/read', 'DELETE', 'GET, HEAD, OPTIONS'],
  ['/things/1', 'PUT', 'GET, OPTIONS'],
  ['/things', 'GET', 'POST, OPTIONS'],
  ['/page/own', 'OPTIONS', 'GET, POST'],
  ['/page/own', 'PATCH', 'GET, POST'],
])('answers %s by %s with 405 and the allowed methods', async (path, method, allow) => {
  const { ask } = await listen();
  const reply = await ask(path, { method });
  expect([reply.status, reply.headers.get('allow')]).toEqual([405, allow]);
  expect(reply.headers.get('cache-control')).toBe('no-store');
  if (method !== 'HEAD') expect(JSON.parse(reply.text)).toMatchObject({ error: 'method_not_allowed' });
});

it('answers HEAD without a body where the operation allows it', async () => {
  const { ask } = await listen();
  const reply = await ask('/read', { method: 'HEAD' });
  expect([reply.status, reply.text, reply.headers.get('content-length')]).toEqual([200, '', '13']);
});

it('allows pages of any origin at an endpoint with cors, without credentials', async () => {
  const { ask } = await listen();
  const reply = await ask('/form', {
    method: 'OPTIONS',
    headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
  });
  expect(reply.status).toBe(204);
  expect(Object.fromEntries(reply.headers)).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'POST, OPTIONS',
    'access-control-allow-headers': 'authorization, content-type, mcp-protocol-version',
    'access-control-max-age': '3600',
  });
  expect(reply.headers.get('access-control-allow-credentials')).toBeNull();
  expect((await ask('/form', { method: 'POST' })).headers.get('access-control-expose-headers')).toContain(
    'WWW-Authenticate',
  );
  expect((await ask('/page/own')).headers.get('access-control-allow-origin')).toBeNull();
});

it.each(['/', '/form/', '/FORM', '/form/x', '/things/', '/things/1/2', '/read%2f', '//form'])(
  'passes %s to the next handler',
  async (path) => {
    const { ask } = await listen();
    expect(await ask(path)).toMatchObject({ status: 404, text: 'handed on' });
  },
);

it('matches one encoded segment for a path parameter', async () => {
  const { ask } = await listen();
  expect((await ask('/things/a%2Fb?c=/d')).text).toBe('{"path":"/things/a%2Fb"}');
});

it('serves a path that ends with a slash', async () => {
  const { ask } = await listen();
  expect((await ask('/slash/')).text).toBe('{"slash":true}');
});

it.each([
  ['another type', { 'content-type': 'application/json' }, '{}'],
  ['no type', {}, ''],
  ['multipart', { 'content-type': 'multipart/form-data; boundary=x' }, ''],
  ['an encoded body', { ...FORM, 'content-encoding': 'gzip' }, 'a=1'],
])('rejects %s with 415', async (_what, headers, body) => {
  const { ask } = await listen();
  const reply = await ask('/form', { method: 'POST', headers, ...(body !== '' && { body }) });
  expect([reply.status, JSON.parse(reply.text)]).toEqual([415, expect.objectContaining({ error: 'invalid_request' })]);
});

it('accepts the media type of a form in any case and with a charset', async () => {
  const { ask } = await listen();
  const headers = { 'content-type': 'Application/X-WWW-form-urlencoded; charset=UTF-8' };
  expect((await ask('/form', { method: 'POST', headers, body: 'a=%C3%A4+b' })).text).toBe('{"a":"ä b"}');
});

it.each(['/form', '/page/form'])('accepts 64 KiB at %s and rejects one byte more with 413', async (path) => {
  const { ask } = await listen();
  const post = (length: number) => ask(path, { method: 'POST', headers: FORM, body: `a=${'x'.repeat(length - 2)}` });
  expect((await post(64 * 1024)).status).toBe(200);
  for (const length of [64 * 1024 + 1, 5_000_000]) {
    const reply = await post(length);
    expect([reply.status, reply.headers.get('connection')]).toEqual([413, 'close']);
    expect(reply.headers.get('cache-control')).toBe('no-store');
  }
});

it('rows 58 and 67: hides internal errors from the client, and their messages from the log', async () => {
  const { ask, logged, events } = await listen();
  const internal = await ask('/internal');
  expect([internal.status, JSON.parse(internal.text)]).toEqual([
    500,
    { error: 'server_error', error_description: 'the server failed' },
  ]);
  expect((await ask('/odd')).status).toBe(500);
  const store = await ask('/store');
  expect([store.status, store.headers.get('retry-after')]).toEqual([503, '5']);
  expect(store.text).not.toContain('redis');
  expect(logged.join('\n')).not.toContain('hunter2');
  expect(logged[0]).toContain('an endpoint failed unexpectedly');
  expect(logged[0]).toContain('oauth-errors.test.ts');
  expect(events.map(([, facts]) => facts)).toEqual([
    { path: '/internal', request_id: 'r-42', reason: 'internal' },
    { path: '/odd', request_id: 'r-42', reason: 'internal' },
    { path: '/store', request_id: 'r-42', reason: 'store_down' },
  ]);
});

it.each([
  ['/page/store', 503, '5', 'Signing in is not possible'],
  ['/page/internal', 500, null, 'Something went wrong here'],
  ['/page/limit', 429, '7', 'Too many sign-ins'],
  ['/page/own', 400, null, 'did not begin in this browser'],
])('shows an error page at %s', async (path, status, retryAfter, title) => {
  const { ask } = await listen();
  const reply = await ask(path);
  expect([reply.status, reply.headers.get('retry-after')]).toEqual([status, retryAfter]);
  expect(reply.text).toContain(title);
  expect(reply.text).toContain('r-42');
  expect(reply.headers.get('referrer-policy')).toBe('no-referrer');
});

it('rows 64 and 65: redirects with 303, uncached and without a referrer', async () => {
  const { ask } = await listen();
  const reply = await ask('/page/redirect', { method: 'POST', headers: FORM, body: 'a=1' });
  expect([reply.status, reply.headers.get('location')]).toEqual([303, 'https://client.example/cb?code=x']);
  expect(reply.headers.get('cache-control')).toBe('no-store');
  expect(reply.headers.get('referrer-policy')).toBe('no-referrer');
});

it('closes the connection on an error in the middle of an answer', async () => {
  const { ask } = await listen();
  await expect(ask('/late')).rejects.toThrow();
});

it('survives a client that disconnects in the middle of its form', async () => {
  const { ask, port, logged, events } = await listen();
  const socket = connect(port, '127.0.0.1');
  socket.write(
    'POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\na=1',
  );
  await new Promise((resolve) => setTimeout(resolve, 50));
  socket.destroy();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect((await ask('/read')).status).toBe(200);
  expect([logged, events]).toEqual([[], []]);
});
