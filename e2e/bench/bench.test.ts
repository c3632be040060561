import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { request } from 'undici';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { readGatewayConfig } from '../../gateway/read-gateway-config.ts';
import { startBackends, startTarget } from './contenders.ts';
import { engines } from './load/engines.ts';
import { writeConfig } from './gateway.ts';
import type { Plan } from './load/load.ts';
import { callTool, closeSession, openSession, post, toolNames } from './mcp.ts';
import type { Options } from './options.ts';
import { listen } from './servers/child.ts';
import { writeLoginConfig } from './login-config.ts';
import { cookiesOf, headerOf, RawConnection } from './load/raw-connection.ts';
import { startScript, startServer, stopAll } from './processes.ts';
import { loadInTurn } from './slices.ts';
import type { Bench } from './workload.ts';
import { toolCalls } from './workloads/w1-tool-calls.ts';
import { sessionChurn } from './workloads/w5-session-churn.ts';
import { codeGrants } from './workloads/w8-logins.ts';

const options: Options = {
  rounds: 1,
  seconds: 0.3,
  connections: [2],
  only: undefined,
  targets: ['bare-proxy'],
  checkout: undefined,
  json: '',
};
const [engine] = engines();
let bench: Bench;

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-bench-test-'));
  bench = { options, engine, folder, root: join(import.meta.dirname, '../..'), log: () => undefined };
});

afterEach(async () => {
  await stopAll();
  rmSync(bench.folder, { recursive: true });
}, 30_000);

describe('workloads on the bare proxy', { timeout: 60_000 }, () => {
  it.each([toolCalls, sessionChurn])('$id measures a rate', async (workload) => {
    const { rates } = await workload.run(bench);
    expect(rates).toMatchObject([{ server: 'bare-proxy', ratio: null, goal: null }]);
    const [row] = rates;
    expect(row?.perSecond).toBeGreaterThan(10);
    expect(row?.p99Ms).toBeGreaterThanOrEqual(row?.p50Ms ?? Infinity);
    expect(row?.p50Ms).toBeGreaterThan(0);
    expect(row?.perSecondByRound).toHaveLength(1);
    if (process.platform === 'linux') expect(row?.cpuSecondsPerThousand).toBeGreaterThan(0);
  });
});

describe.each(engines())('$name', { timeout: 60_000 }, ({ run }) => {
  const body = {
    before: '{"jsonrpc":"2.0","id":',
    after: ',"method":"tools/call","params":{"name":"list_issues","arguments":{"text":"a \\"quoted\\" word"}}}',
  };
  const planFor = async (mode: string): Promise<Plan> => {
    const { backends } = await startBackends(1, 1, { mode });
    const port = Number(new URL(backends[0]?.url ?? '').port);
    return { port, sessions: ['one', 'two'], bodies: [body], mustContain: '"result":' };
  };

  it('counts the answers of a healthy server and no failure', async () => {
    const load = await run(await planFor('json'), 4, 1);
    expect(load.failures).toEqual({});
    expect(load.requests).toBeGreaterThan(50);
    expect(load.bytes / load.requests).toBeGreaterThan(100);
    expect(load.seconds).toBeGreaterThan(0.8);
  });

  it('sends the token of its user with each session', async () => {
    const { backends } = await startBackends(1, 1, { credential: 'user-' });
    const port = Number(new URL(backends[0]?.url ?? '').port);
    const plan = { port, sessions: ['one', 'two', 'three'], bodies: [body], mustContain: '"result":' };
    const strangers = await run(plan, 2, 1);
    expect(strangers.failures['status']).toBe(strangers.requests);
    const users = await run({ ...plan, tokens: ['user-1', 'user-2'] }, 2, 1);
    expect(users.failures).toEqual({});
    expect(users.requests).toBeGreaterThan(20);
  });

  it('counts every answer without the text as a failure', async () => {
    const load = await run(await planFor('garbage'), 4, 1);
    expect(load.failures['reply']).toBeGreaterThanOrEqual(load.requests * 0.9);
  });

  it('counts a rejected request as a failure, even without an expected text', async () => {
    const { ports } = await startServer('servers/bare-proxy.ts', []);
    const load = await run({ port: ports[0] ?? 0, sessions: [], bodies: [{ before: 'not json ', after: '' }] }, 2, 1);
    expect(load.failures['status']).toBeGreaterThan(0);
  });
});

describe('loadInTurn', { timeout: 30_000 }, () => {
  it('fails when replies are smaller than the plan requires', async () => {
    const { child, backends } = await startBackends(1, 1);
    const port = Number(new URL(backends[0]?.url ?? '').port);
    const plan = {
      port,
      sessions: [],
      bodies: [{ before: '{"id":', after: ',"method":"tools/list"}' }],
      minBytes: 1e6,
    };
    const contenders = [{ name: 'small', pid: child.pid, plan }];
    const load = loadInTurn(engine, contenders, { connections: 1, rounds: 1, seconds: 1 });
    await expect(load).rejects.toThrow(/small.*replies of \d+ bytes/u);
  });
});

describe('load/idle', { timeout: 30_000 }, () => {
  /** Starts a session server whose GET streams stay open; with `dropTenth` it ends every tenth at once. */
  async function streamServer(dropTenth: boolean) {
    let streams = 0;
    const server = createServer((req, res) => {
      if (req.method === 'GET') {
        streams += 1;
        res.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(':\n\n');
        if (dropTenth && streams % 10 === 0) res.end().destroy();
        return;
      }
      let body = '';
      req.setEncoding('utf8').on('data', (text: string) => (body += text));
      req.once('end', () => {
        const initialize = body.includes('"initialize"');
        res.writeHead(initialize ? 200 : 202, { 'Mcp-Session-Id': 'one' }).end(initialize ? '{"result":{}}' : '');
      });
    });
    const port = await listen(server, 0);
    return {
      url: `http://127.0.0.1:${String(port)}/mcp`,
      streams: () => streams,
      close: () => server.closeAllConnections(),
    };
  }

  it.each([
    [false, { open: 50, closed: 0 }],
    [true, { open: 45, closed: 5 }],
  ])('holds every stream and counts the dropped ones (every tenth is dropped: %s)', async (dropTenth, expected) => {
    const server = await streamServer(dropTenth);
    const { line } = await startScript('load/idle.ts', ['--url', server.url, '--count', '50', '--hold', '0.2']);
    expect(line).toEqual(expected);
    expect(server.streams()).toBe(50);
    server.close();
  });

  it('fails with the status of a rejected stream', async () => {
    const { backends } = await startBackends(1, 1);
    const refused = startScript('load/idle.ts', ['--url', backends[0]?.url ?? '', '--count', '1']);
    await expect(refused).rejects.toThrow('GET answered HTTP/1.1 405');
  });
});

describe('load/faulty', { timeout: 30_000 }, () => {
  it.each(['hang', 'garbage'])('keeps calling a backend that answers with %s, and ends', async (mode) => {
    const { backends } = await startBackends(1, 1, { mode });
    const flags = ['--url', backends[0]?.url ?? '', '--tool', '4:search_issues', '--seconds', '1'];
    const { child, line } = await startScript('load/faulty.ts', flags);
    expect(line).toEqual({ search_issues: 4 });
    await expect.poll(() => child.process.exitCode, { timeout: 10_000 }).toBe(0);
  });
});

describe('the backend', { timeout: 30_000 }, () => {
  it.each(['json', 'sse'])('serves a whole session, answering as %s', async (mode) => {
    const { backends } = await startBackends(2, 50, { mode });
    const url = backends[1]?.url ?? '';
    const session = await openSession(url);
    expect(session).toMatch(/^[0-9a-f-]{36}$/u);
    expect(new Set(await toolNames(url, session)).size).toBe(50);
    expect(await callTool(url, 'get_issues', 'two words', session)).toBe('bench-2 get_issues two words');
    expect(await closeSession(url, session ?? '')).toBe(200);
  });

  it('answers garbage that is not JSON', async () => {
    const { backends } = await startBackends(1, 1, { mode: 'garbage' });
    const { message } = await post(backends[0]?.url ?? '', CALL);
    expect(() => JSON.parse(message) as unknown).toThrow(SyntaxError);
  });

  it('answers 100 MiB of valid JSON in mode large', async () => {
    const { backends } = await startBackends(1, 1, { mode: 'large' });
    const { body } = await request(backends[0]?.url ?? '', { method: 'POST', body: CALL });
    let bytes = 0;
    for await (const chunk of body) bytes += (chunk as Buffer).length;
    expect(bytes).toBeGreaterThan(100 * 1024 * 1024);
  });

  it.each([
    ['hang', 'headersTimeout'],
    ['slow-loris', 'bodyTimeout'],
  ] as const)('never finishes an answer in mode %s', async (mode, timeout) => {
    const { backends } = await startBackends(1, 1, { mode });
    const answer = request(backends[0]?.url ?? '', { method: 'POST', body: CALL, [timeout]: 500 });
    await expect(answer.then(({ body }) => body.text())).rejects.toThrow(/timeout/iu);
  });
});

describe('the tools of the login benchmark', { timeout: 30_000 }, () => {
  /** Starts a server that answers the requests of one connection with these texts, each in two parts. */
  async function answering(...replies: string[]): Promise<RawConnection> {
    const server = createTcpServer((socket) => {
      socket.on('data', () => {
        const reply = replies.shift() ?? '';
        socket.write(reply.slice(0, 30));
        setTimeout(() => socket.write(reply.slice(30)), 20);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return new RawConnection((server.address() as AddressInfo).port);
  }

  it('reads replies in parts, their headers and their cookies, on one connection', async () => {
    const head = 'HTTP/1.1 303 See Other\r\nSet-Cookie: one=1; Path=/\r\nset-cookie: two=2\r\nLocation: /next\r\n';
    const connection = await answering(
      `${head}Content-Length: 0\r\n\r\n`,
      'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody',
    );
    const first = await connection.send('GET', '/');
    expect([first.status, headerOf(first, 'location'), cookiesOf(first)]).toEqual([303, '/next', ['one=1', 'two=2']]);
    expect(headerOf(first, 'retry-after')).toBeUndefined();
    expect(await connection.send('POST', '/', '', 'x=1')).toMatchObject({ status: 200, body: 'body' });
    connection.close();
  });

  it('rejects a reply without Content-Length', async () => {
    const connection = await answering('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
    await expect(connection.send('GET', '/')).rejects.toThrow('without Content-Length');
    connection.close();
  });

  it('gets signed ID tokens with the nonce of the code from the stub provider', async () => {
    const { ports } = await startServer('servers/stub-provider.ts', []);
    const issuer = `http://127.0.0.1:${String(ports[0])}`;
    const discovered = await request(`${issuer}/.well-known/openid-configuration`);
    const { token_endpoint, jwks_uri } = (await discovered.body.json()) as Record<string, string>;
    const body = new URLSearchParams({ grant_type: 'authorization_code', code: 'user-7.nonce-of-the-leg' }).toString();
    const reply = await request(token_endpoint ?? '', { method: 'POST', body });
    const { id_token } = (await reply.body.json()) as { id_token: string };
    const keys = createRemoteJWKSet(new URL(jwks_uri ?? ''));
    const { payload } = await jwtVerify(id_token, keys, { issuer, audience: 'vmcp' });
    expect(payload).toMatchObject({ sub: 'user-7', nonce: 'nonce-of-the-leg' });
  });

  it('writes a configuration that the gateway accepts, with either store', () => {
    for (const redis of [undefined, 6379]) {
      const file = writeLoginConfig(bench.folder, { name: 'logins', port: 4483, upstream: 4400, redis });
      expect(readGatewayConfig(readFileSync(file, 'utf8'))).not.toHaveProperty('problems');
    }
  });

  it('skips the logins when no gateway is measured', async () => {
    expect((await codeGrants.run(bench)).notes).toEqual(['W8 was left out: it is about the gateway alone.']);
  });
});

describe('the servers beside it', { timeout: 30_000 }, () => {
  it('writes a configuration that the contract of the gateway accepts', () => {
    expect(writeConfig(bench.folder, [{ name: 'bench-1', url: 'http://127.0.0.1:1/mcp' }])).toContain(bench.folder);
    expect(() => writeConfig(bench.folder, [{ name: 'Not A Label', url: 'x' }])).toThrow('bench configuration');
  });

  it('serves the bytes of the list file unchanged', async () => {
    const file = join(bench.folder, 'list.json');
    writeFileSync(file, '{"result": {"tools":[]} }');
    const { ports } = await startServer('servers/static-list.ts', ['--body', file]);
    const { status, message } = await post(`http://127.0.0.1:${String(ports[0])}/mcp`, '{}');
    expect([status, message]).toEqual([200, '{"result": {"tools":[]} }']);
  });

  it('leaves no process behind', async () => {
    const set = await startBackends(1, 1);
    const { child } = await startTarget(bench, 'bare-proxy', set);
    await stopAll();
    for (const { pid } of [child, set.child]) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});

const CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_issues","arguments":{"text":"x"}}}';
