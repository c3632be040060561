import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Writable } from 'node:stream';
import express from 'express';
import { afterEach, expect, it } from 'vitest';
import { oauthErrors } from '../authserver/http/oauth-errors.ts';
import { PageRefused, Refused } from '../authserver/http/refused.ts';
import { VMCP } from '../contract/testdata/vmcp-config.ts';
import { listen } from '../listener.ts';
import { startGateway } from '../process/gateway.ts';
import { auditTo } from '../telemetry/audit-log.ts';
import { createLog } from '../telemetry/log.ts';
import { RefusalLog } from '../telemetry/refusal-log.ts';
import type { Operation } from './endpoint/operation.ts';
import { route } from './endpoint/router.ts';
import { sendAddedHeaders, requestId } from './head/added-headers.ts';
import { logRefusals } from './log-refusals.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function capture() {
  const lines: Record<string, unknown>[] = [];
  const write = (chunk: Buffer, _encoding: string, done: () => void): void => {
    lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
    done();
  };
  const log = createLog(new Writable({ write }), 'info');
  const linesFor = (id: string) => lines.filter((line) => line['request_id'] === id);
  return { log, lines, linesFor };
}

async function gateway(incoming: { type: 'anonymous' | 'oidc' }) {
  const captured = capture();
  const config = {
    schema_version: 'v0.1.0' as const,
    name: 'desk',
    oidc_config: { issuer: 'http://127.0.0.1:9', audience: 'vmcp', jwksurl: 'http://127.0.0.1:9/jwks' },
    vmcp: { ...VMCP, backends: [], incoming: { ...VMCP.incoming, ...incoming } },
  };
  const running = await startGateway({
    servers: [{ config, host: '127.0.0.1', port: 0, local: true }],
    management: { host: '127.0.0.1', port: 0 },
    log: captured.log,
    version: '0',
  });
  cleanups.push(() => running.stop(0));
  return { ...captured, url: running.servers[0]?.mcpUrl ?? '', management: running.managementUrl };
}

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const ask = (url: URL | string, { method = 'GET', headers = {}, body = '' }: Asked = {}) =>
  new Promise<{ status: number; id: string; body: string }>((resolve, reject) => {
    request(url, { method, headers, agent: false }, (res) => {
      void text(res).then((received) => {
        resolve({ status: res.statusCode ?? 0, id: String(res.headers['x-request-id']), body: received });
      }, reject);
    })
      .on('error', reject)
      .end(body);
  });

const POST = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const SECRET = 'canary-7f3a-canary-7f3a';
const jwt = (header: object) => `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${SECRET}.${SECRET}`;

it.each<[string, number, string, Asked, string?]>([
  ['an unknown path', 404, `/nothing?code=${SECRET}`, {}],
  ['a method that is not served', 405, '/mcp', { method: 'PUT' }],
  ['a foreign Host', 403, '/mcp', { headers: { host: 'evil.example' } }, 'host'],
  ['a foreign Origin', 403, '/mcp', { headers: { origin: 'https://evil.example' } }, 'origin'],
  ['a body that is no JSON', 400, '/mcp', { method: 'POST', headers: POST, body: '{' }],
  ['an unknown session', 404, '/mcp', { headers: { ...POST, 'mcp-session-id': 'x' } }],
])('logs one line for %s, with the request id of the answer', async (_what, status, path, asked, reason) => {
  const { url, linesFor, lines } = await gateway({ type: 'anonymous' });
  const answer = await ask(new URL(path, url), asked);
  expect(answer.status).toBe(status);
  expect(linesFor(answer.id)).toEqual([
    expect.objectContaining({ level: 'info', message: 'request refused', status, ...(reason && { reason }) }),
  ]);
  expect(JSON.stringify(lines)).not.toContain(SECRET);
});

it.each([
  ['no token', {}, 401, 'no_credentials'],
  ['two tokens', { authorization: 'Bearer a b' }, 400, 'several_parts'],
  ['an opaque token', { authorization: `Bearer ${SECRET}` }, 401, 'opaque'],
  ['an unsigned JWT', { authorization: `Bearer ${jwt({ alg: 'none' })}` }, 401, 'algorithm'],
])(
  'logs one line with the reason for a request with %s, and never the token',
  async (_what, headers, status, reason) => {
    const { url, linesFor, lines } = await gateway({ type: 'oidc' });
    const answer = await ask(url, { method: 'POST', headers: { ...POST, ...headers } });
    expect(answer.status).toBe(status);
    expect(linesFor(answer.id)).toEqual([expect.objectContaining({ level: 'info', status, reason, path: '/mcp' })]);
    expect(JSON.stringify(lines)).not.toContain(SECRET);
  },
);

it('logs refusals of the management listener, and no successful answers', async () => {
  const { url, management, lines, linesFor } = await gateway({ type: 'anonymous' });
  const before = lines.length;
  expect((await ask(`${management}/status`)).status).toBe(200);
  expect((await ask(new URL('/health', url))).status).toBe(200);
  expect(lines).toHaveLength(before);
  const { id } = await ask(`${management}/nothing`);
  expect(linesFor(id)).toHaveLength(1);
});

it.each([
  ['without Host', 400, ''],
  ['with an unknown Expect', 417, 'Host: 127.0.0.1\r\nExpect: more\r\n'],
])('survives and logs a request %s, which Node answers itself', async (_what, status, fields) => {
  const { url, management, lines } = await gateway({ type: 'anonymous' });
  for (const origin of [url, management]) {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    cleanups.push(() => socket.destroy());
    socket.end(`GET /status HTTP/1.1\r\n${fields}\r\n`);
    expect(await text(socket)).toMatch(new RegExp(`^HTTP/1\\.1 ${String(status)} `, 'u'));
  }
  const logged = expect.objectContaining({ message: 'request refused', status, path: '/status' }) as unknown;
  expect(lines.filter((line) => line['status'] === status)).toEqual([logged, logged]);
  expect((await ask(`${management}/status`)).status).toBe(200);
});

it.each([
  ['a page', new PageRefused('sign_in_over'), 'page', 400, { event: 'request_refused', reason: 'sign_in_over' }],
  ['JSON', new Refused('grant_type_missing'), 'json', 400, { event: 'request_refused', reason: 'grant_type_missing' }],
  ['a limit', new Refused('rate_limited'), 'page', 429, { event: 'rate_limited', reason: 'rate_limited' }],
] as const)(
  'logs one line for a refusal of the authorization server that is %s, with the request id that it shows',
  async (_what, thrown, answers, status, facts) => {
    const { log, linesFor } = capture();
    const refusals = new RefusalLog(log);
    const app = express();
    logRefusals(app, refusals);
    sendAddedHeaders(app);
    app.use(requestId('number'));
    const emit = auditTo(log, () => undefined, refusals);
    const handle = () => Promise.reject(thrown);
    const operation: Operation = { method: 'GET', paths: ['/oauth/x'], answers, handle };
    app.use(route([operation], oauthErrors({ server: 'here', emit, log })));
    const listener = await listen(app, '127.0.0.1', 0);
    cleanups.push(() => listener.close());
    const answer = await ask(`http://127.0.0.1:${String(listener.port)}/oauth/x?code=${SECRET}`);
    expect(answer.status).toBe(status);
    if (answers === 'page') expect(answer.body).toContain(answer.id);
    expect(linesFor(answer.id)).toEqual([expect.objectContaining({ message: 'audit', path: '/oauth/x', ...facts })]);
  },
);
