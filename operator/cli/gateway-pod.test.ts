import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { VMCP } from '../../gateway/contract/testdata/vmcp-config.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Environment of a pod whose API server does not exist. */
const POD = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '9' };
const CLUSTER = { backends_config_map: 'desk', virtual_mcp_server: 'desk', reporting_interval: '30s' };

/** Runs `vmcp gateway` as a pod does, on free ports. */
async function gateway(vmcp: object, env: Readonly<Record<string, string>> = POD, host = ['--host', '127.0.0.1']) {
  const dir = await mkdtemp(join(tmpdir(), 'vmcp-gateway-pod-'));
  cleanups.push(() => rm(dir, { recursive: true, force: true }));
  const file = join(dir, 'config.json');
  await writeFile(file, JSON.stringify({ schema_version: 'v0.1.0', name: 'desk', vmcp: { ...VMCP, ...vmcp } }));
  const ports = ['--port', '0', '--management-port', '0'];
  const args = [join(import.meta.dirname, 'main.ts'), 'gateway', '--config', file, ...host, ...ports];
  const { KUBERNETES_SERVICE_HOST: _host, ...outside } = process.env;
  const child = spawn(process.execPath, args, { env: { ...outside, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  cleanups.push(() => child.kill('SIGKILL'));
  let output = '';
  const url = new Promise<string>((resolve) => {
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const listens = /"message":"gateway listens".*?"url":"([^"]+)"/u.exec(output);
      if (listens?.[1] !== undefined) resolve(listens[1]);
    });
  });
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, url, exited, output: () => output };
}

/** Sends one request on its own connection. */
function ask(url: string, path: string, message?: object, session?: string) {
  return new Promise<{ status: number | undefined; session: string; body: string }>((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session !== undefined && { 'mcp-session-id': session }),
    };
    request(new URL(path, url), { method: message ? 'POST' : 'GET', headers, agent: false }, (res) => {
      void text(res).then((body) => {
        resolve({ status: res.statusCode, session: String(res.headers['mcp-session-id']), body });
      }, reject);
    })
      .on('error', reject)
      .end(message && JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }));
  });
}

/** Starts a backend with one slow tool. */
async function slowBackend(ms: number) {
  const server = createServer((req, res) => {
    if (req.method !== 'POST') {
      res.writeHead(405).end();
      return;
    }
    void text(req).then(async (body) => {
      const { id, method } = JSON.parse(body) as { id?: number; method?: string };
      if (id === undefined) return res.writeHead(202).end();
      if (method === 'tools/call') await sleep(ms);
      const results: Record<string, object> = {
        initialize: {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 's', version: '1' },
        },
        'tools/list': { tools: [{ name: 'slow', inputSchema: { type: 'object' } }] },
        'tools/call': { content: [{ type: 'text', text: 'done' }] },
      };
      const reply = { jsonrpc: '2.0', id, result: results[method ?? ''] ?? {} };
      return res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/mcp`;
  return { name: 'a', transport: 'streamable-http', url, insecure_allow_http: true, allow_private_ips: true };
}

describe('vmcp gateway in a pod', () => {
  it('is alive but not ready without its API server, and stops at a signal', async () => {
    const { child, url, exited, output } = await gateway({ namespace: 'team', cluster: CLUSTER });
    expect((await ask(await url, '/health')).status).toBe(200);
    const ready = await ask(await url, '/readyz');
    expect([ready.status, JSON.parse(ready.body)]).toEqual([
      503,
      { status: 'not_ready', mode: 'dynamic', reason: 'cache_sync_pending' },
    ]);
    await expect.poll(output, { timeout: 10_000 }).toContain('objects cannot be watched');
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
  });

  it('reports that it does not run in a pod', async () => {
    const { exited, output } = await gateway({ namespace: 'team', cluster: CLUSTER }, {});
    expect(await exited).toBe(2);
    expect(output()).toContain('this process runs in no pod');
  });

  it('drains: becomes unready at once, accepts connections of known clients and finishes calls, despite more signals', async () => {
    const { child, url, exited } = await gateway({ backends: [await slowBackend(3_000)] });
    const at = await url;
    const opening = { method: 'initialize', params: { protocolVersion: '2025-11-25' } };
    const { session } = await ask(at, '/mcp', opening);
    await ask(at, '/mcp', { method: 'tools/list' }, session);
    const call = { method: 'tools/call', params: { name: 'a_slow' } };
    const running = ask(at, '/mcp', call, session);
    await sleep(300);
    child.kill('SIGTERM');
    await expect.poll(async () => (await ask(at, '/readyz')).status, { timeout: 1_500, interval: 20 }).toBe(503);
    const late = ask(at, '/mcp', call, session);
    expect((await ask(at, '/mcp', opening)).status).toBe(503);
    child.kill('SIGTERM');
    child.kill('SIGTERM');
    expect((await running).body).toContain('done');
    expect((await late).body).toContain('done');
    expect(await exited).toBe(0);
  });
});

describe('vmcp gateway on a laptop', () => {
  it.each([
    ['0.0.0.0 without --host', [], '0.0.0.0', '127.0.0.1'],
    ['the loopback address', ['--host', '127.0.0.1'], '127.0.0.1', '127.0.0.1'],
    ['every IPv6 address', ['--host', '::'], '[::]', '[::1]'],
  ])('logs the bound address and a working URL for %s', async (_what, host, bound, named) => {
    const running = await gateway({}, {}, host);
    const url = new URL(await running.url);
    expect(url.hostname).toBe(named);
    expect(running.output()).toContain(`"address":"${bound}:${url.port}"`);
    expect(await ask(url.href, '/health')).toMatchObject({ status: 200 });
  });
});
