import express from 'express';
import { describe, expect, it } from 'vitest';
import { sendBytes } from '../../e2e/harness/clients/bytes.ts';
import { raw } from '../../e2e/harness/clients/raw.ts';
import { testScope } from '../../e2e/harness/scope.ts';
import { listen } from '../listener.ts';
import { crossSiteGuard, hostGuard, loopbackHosts, originGuard, type OriginGuardOptions } from './origin-guard.ts';

const ORIGIN = 'https://app.example';

async function ask(method: string, lines: readonly string[], options: Partial<OriginGuardOptions> = {}) {
  const app = express();
  const usual = { allowedHosts: undefined, allowedOrigins: new Set([ORIGIN]), allowLoopbackOrigins: false };
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
  'http://localhost:1@evil.example',
  'http://localhost:x',
  'http://[::1',
  'http://[::1]evil',
  'http://localhost]',
])('rejects the origin %s, which is not loopback', async (origin) => {
  expect((await ask('POST', [`Origin: ${origin}`], { allowLoopbackOrigins: true })).status).toBe(403);
});

it.each(['http://localhost', 'https://LOCALHOST:5173', 'http://[::1]:8080', 'http://127.0.0.1:80'])(
  'takes the origin %s for one of this machine',
  async (origin) => {
    expect((await ask('POST', [`Origin: ${origin}`], { allowLoopbackOrigins: true })).status).toBe(200);
  },
);

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
      current: { allowedHosts: loopbackHosts('127.0.0.1'), allowedOrigins: new Set(), allowLoopbackOrigins: true },
    }),
  );
  app.use((_req, res) => void res.json({}));
  const { port, close } = await listen(app, '127.0.0.1', 0);
  testScope().defer(close);
  const answer = await raw(`http://127.0.0.1:${String(port)}/`, { headers: { host } });
  expect(answer.status).toBe(status);
});

it.each([
  ['an image or a link of another site', ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: no-cors'], 403],
  ['an allowed page of another site', ['Sec-Fetch-Site: cross-site', `Origin: ${ORIGIN}`], 200],
  ['the address bar', ['Sec-Fetch-Site: none'], 200],
  ['another port of this machine', ['Sec-Fetch-Site: same-site'], 200],
  ['a program', [], 200],
])('answers a request of %s', async (_what, lines, status) => {
  const app = express().use(crossSiteGuard);
  app.use((_req, res) => void res.json({}));
  const { port, close } = await listen(app, '127.0.0.1', 0);
  testScope().defer(close);
  expect((await sendBytes(port, { method: 'GET', lines })).status).toBe(status);
});
