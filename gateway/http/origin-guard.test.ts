import express from 'express';
import { describe, expect, it } from 'vitest';
import { sendBytes } from '../../e2e/harness/clients/bytes.ts';
import { raw } from '../../e2e/harness/clients/raw.ts';
import { testScope } from '../../e2e/harness/scope.ts';
import { listen } from '../listener.ts';
import { hostGuard, loopbackHosts, originGuard, pageBodyGuard, type OriginGuardOptions } from './origin-guard.ts';

const ORIGIN = 'https://app.example';

async function ask(method: string, lines: readonly string[], options: Partial<OriginGuardOptions> = {}) {
  const app = express();
  const usual = { allowedHosts: undefined, allowedOrigins: new Set([ORIGIN]) };
  app.use(originGuard({ current: { ...usual, ...options } }));
  app.use((_req, res) => void res.json({}));
  const { port, close } = await listen(app, '127.0.0.1', 0);
  testScope().defer(close);
  return sendBytes(port, { method, lines });
}

/** Returns the headers that a browser may send after this preflight. */
async function preflight(requested: string, options?: Partial<OriginGuardOptions>): Promise<string[]> {
  const lines = [
    `Origin: ${ORIGIN}`,
    'Access-Control-Request-Method: POST',
    `Access-Control-Request-Headers: ${requested}`,
  ];
  const { status, headers } = await ask('OPTIONS', lines, options);
  expect(status).toBe(204);
  return (headers['access-control-allow-headers'] ?? '').split(', ');
}

describe('a preflight of an allowed origin', () => {
  it('allows credentials and every header of the protocol', async () => {
    const allowed = await preflight('authorization, Mcp-Param-Region, mcp-session-id');
    expect(allowed).toEqual(
      expect.arrayContaining([
        ...['content-type', 'accept', 'authorization', 'last-event-id'],
        ...['mcp-session-id', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-param-region'],
      ]),
    );
    expect(new Set(allowed).size).toBe(allowed.length);
  });

  it('allows configured headers and no others', async () => {
    const allowed = await preflight('x-tenant, x-other, mcp-a b, mcp-é', { allowedHeaders: ['x-tenant'] });
    expect(allowed).toContain('x-tenant');
    expect(allowed.filter((name) => !/^[a-z-]+$/.test(name) || name === 'x-other')).toEqual([]);
  });
});

it('allows pages of an allowed origin to read the challenge and the session id', async () => {
  const { status, headers } = await ask('POST', [`Origin: ${ORIGIN}`]);
  expect(status).toBe(200);
  expect(headers).toMatchObject({
    'access-control-allow-origin': ORIGIN,
    'access-control-expose-headers': 'WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version',
    vary: 'origin',
  });
});

it('answers a preflight of another origin with 403', async () => {
  expect((await ask('OPTIONS', ['Origin: https://evil.example'])).status).toBe(403);
});

it.each([
  ['localhost', 200],
  ['localhost:4483', 200],
  ['[::1]:4483', 200],
  ['localhost:1@evil.example', 403],
  ['localhost:x', 403],
  ['[::1]evil.example', 403],
])('answers a request with the Host %s with %i', async (host, status) => {
  const app = express();
  app.use(
    hostGuard({
      current: { allowedHosts: loopbackHosts('127.0.0.1'), allowedOrigins: new Set() },
    }),
  );
  app.use((_req, res) => void res.json({}));
  const { port, close } = await listen(app, '127.0.0.1', 0);
  testScope().defer(close);
  const answer = await raw(`http://127.0.0.1:${String(port)}/`, { headers: { host } });
  expect(answer.status).toBe(status);
});

/** Sends a request to a listener on this machine. PORT in a header is the port of the listener. */
async function askLocal(lines: readonly string[], options: Partial<OriginGuardOptions> = {}, request = {}) {
  const names = loopbackHosts('127.0.0.1');
  const current = { allowedHosts: names, allowedOrigins: new Set([ORIGIN]), own: { names }, ...options };
  const app = express().use(hostGuard({ current }), originGuard({ current }), pageBodyGuard);
  app.use((_req, res) => void res.json({}));
  const { port, close } = await listen(app, '127.0.0.1', 0);
  testScope().defer(close);
  const ofPort = lines.map((line) => line.replaceAll('PORT', String(port)));
  return sendBytes(port, { method: 'POST', path: '/api', ...request, lines: ofPort });
}

describe('row 96: a page of this machine', () => {
  it.each([
    ['http://localhost:PORT', 200],
    ['http://127.0.0.1:PORT', 200],
    ['http://[::1]:PORT', 200],
    ['http://localhost:1', 403],
    ['http://localhost', 403],
    ['http://127.0.0.1:5173', 403],
    ['http://127.0.0.2:PORT', 403],
    ['http://[::1]:5173', 403],
    ['http://[::ffff:127.0.0.1]:PORT', 403],
    ['http://2130706433:PORT', 403],
    ['http://localhost.:PORT', 403],
    ['http://localhost:PORT/', 403],
    ['http://localhost:PORT, http://localhost:PORT', 403],
    ['http://evil.example@localhost:PORT', 403],
    ['https://localhost:PORT', 403],
    ['ws://localhost:PORT', 403],
    ['file://', 403],
    ['null', 403],
    ['', 403],
  ])('with the Origin "%s" gets %i', async (origin, status) => {
    expect((await askLocal([`Origin: ${origin}`])).status).toBe(status);
    expect((await askLocal([`Origin: ${origin}`], {}, { method: 'OPTIONS' })).status).toBe(status === 200 ? 204 : 403);
  });

  it.each([
    [['Origin: http://localhost:PORT', 'Origin: http://localhost:5173']],
    [['Origin: http://localhost:5173', 'Origin: http://localhost:PORT']],
  ])('with two origins gets 403', async (lines) => {
    expect((await askLocal(lines)).status).toBe(403);
  });

  it('of a configured origin gets 200, whatever its site is', async () => {
    const allowedOrigins = new Set(['http://localhost:6274']);
    const lines = ['Origin: http://localhost:6274', 'Sec-Fetch-Site: same-site'];
    expect((await askLocal(lines, { allowedOrigins })).status).toBe(200);
  });

  it('is own when it has the Host of the request, without a default port and in any case', async () => {
    const on = (host: string, origin: string) => askLocal([`Origin: ${origin}`], {}, { host });
    expect((await on('localhost:8443', 'https://localhost:8443')).status).toBe(200);
    expect((await on('LOCALHOST:80', 'http://localhost')).status).toBe(200);
    expect((await on('localhost', 'http://localhost')).status).toBe(200);
    expect((await on('localhost:80', 'http://localhost:8080')).status).toBe(403);
    expect((await on('rebound.example', 'http://rebound.example')).status).toBe(403);
  });

  it.each([
    ['Origin: http://localhost:PORT', 'same-origin', 200],
    ['Origin: http://localhost:PORT', 'same-site', 403],
    ['Origin: http://localhost:PORT', 'cross-site', 403],
    ['Accept: */*', 'same-origin', 200],
    ['Accept: */*', 'none', 200],
    ['Accept: */*', 'same-site', 403],
    ['Accept: */*', 'cross-site', 403],
    ['Accept: */*', 'same-origin, cross-site', 403],
    ['Accept: */*', 'unknown', 403],
  ])('with "%s" and the site %s gets %i', async (line, site, status) => {
    const lines = [line, `Sec-Fetch-Site: ${site}`];
    for (const method of ['GET', 'HEAD', 'DELETE']) {
      expect((await askLocal(lines, { isManagement: true }, { method })).status).toBe(status);
    }
  });

  it('may link to the page at / of a public listener, and to no other page', async () => {
    const link = ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'];
    const status = async (path: string, method: string, isManagement: boolean) =>
      (await askLocal(link, { isManagement }, { method, path })).status;
    expect(await status('/', 'GET', false)).toBe(200);
    expect(await status('/?a=1', 'HEAD', false)).toBe(200);
    expect(await status('/', 'POST', false)).toBe(403);
    expect(await status('/mcp', 'GET', false)).toBe(403);
    expect(await status('/', 'GET', true)).toBe(403);
  });
});

it('takes no origin for its own where only the configuration can tell it', async () => {
  const cluster = { allowedHosts: undefined, own: undefined };
  expect((await askLocal(['Origin: http://localhost:PORT'], cluster)).status).toBe(403);
});

describe('row 97: a body', () => {
  const TYPES: readonly [type: string, status: number][] = [
    ['application/json', 200],
    ['Application/JSON; charset=utf-8', 200],
    ['text/plain', 415],
    ['text/plain;application/json', 415],
    ['application/json, text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data; boundary=application/json', 415],
    ['application/jsonp', 415],
  ];
  const SENDERS = ['Origin: http://localhost:PORT', 'Sec-Fetch-Site: none', 'Sec-Fetch-Dest: empty'];

  it.each(TYPES)('of the type %s that a browser sends gets %i', async (type, status) => {
    for (const sender of SENDERS) {
      const lines = [`Content-Type: ${type}`, sender];
      expect((await askLocal(lines, {}, { body: '{}' })).status).toBe(status);
    }
  });

  it.each(['PUT', 'DELETE'])('without a type that a browser sends with %s gets 415', async (method) => {
    const lines = ['Origin: http://localhost:PORT', 'Transfer-Encoding: chunked'];
    expect((await askLocal(lines, {}, { method, body: '2\r\n{}\r\n0\r\n\r\n' })).status).toBe(415);
    expect((await askLocal(['Origin: http://localhost:PORT'], {}, { method })).status).toBe(200);
  });

  it('of any type that a program sends gets 200', async () => {
    const type = 'Content-Type: application/x-www-form-urlencoded';
    expect((await askLocal([type], {}, { body: '{}' })).status).toBe(200);
    // the `fetch` of Node.js
    expect((await askLocal([type, 'Sec-Fetch-Mode: cors'], {}, { body: '{}' })).status).toBe(200);
  });
});
