import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ContainerOptions } from '../../../contract/container.ts';
import { openPortBook } from '../ports.ts';
import { supervise } from '../supervise.ts';
import { workingEngine } from '../testdata/engine.ts';
import { openFixture, recordingLog, until, type Fixture } from '../testdata/fixture.ts';

const IMAGE = 'localhost/vmcp-test-isolation:1';
/**
 * With PORT an HTTP server, else a program that tries what its first argument lists: `direct:HOST:PORT`,
 * `connect:HOST:PORT` and `get:URL` through the proxy, `write:PATH`. It prints one line of JSON.
 */
const SERVER = `
  const http = require('node:http'), net = require('node:net'), fs = require('node:fs'), os = require('node:os');
  const [, , tries = ''] = process.argv;
  const proxy = () => new URL(process.env.HTTP_PROXY);
  const direct = (host, port) => new Promise((resolve) => {
    const socket = net.connect({ host, port: Number(port), timeout: 2000 });
    socket.on('connect', () => { resolve('open'); socket.destroy(); });
    socket.on('timeout', () => { resolve('timeout'); socket.destroy(); });
    socket.on('error', (error) => resolve(error.code));
  });
  const tunnel = (authority) => new Promise((resolve) => {
    const { hostname, port } = proxy();
    const request = http.request({ hostname, port, method: 'CONNECT', path: authority });
    request.on('connect', (reply, socket) => {
      if (reply.statusCode !== 200) return socket.destroy(), resolve(reply.statusCode);
      socket.write('GET /tunnel HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n\\r\\n');
      let all = ''; socket.on('data', (data) => all += data); socket.on('close', () => resolve(all.split('\\r\\n\\r\\n')[1]));
    });
    request.on('error', (error) => resolve(error.code));
    request.end();
  });
  const get = (url) => new Promise((resolve) => {
    const { hostname, port } = proxy();
    http.get({ hostname, port, path: url, headers: { host: new URL(url).host } }, (reply) => {
      let all = ''; reply.on('data', (data) => all += data); reply.on('end', () => resolve(reply.statusCode + ' ' + all));
    }).on('error', (error) => resolve(error.code));
  });
  const attempt = async (one) => {
    const [kind, ...rest] = one.split(/:(.*)/s);
    if (kind === 'direct') return direct(...rest[0].split(/:(?=\\d+$)/));
    if (kind === 'connect') return tunnel(rest[0]);
    if (kind === 'get') return get(rest[0]);
    if (kind === 'env') return process.env[rest[0]];
    if (kind === 'interfaces') return Object.keys(os.networkInterfaces());
    try { fs.writeFileSync(rest[0], 'written'); return 'written'; } catch (error) { return error.code; }
  };
  process.on('SIGTERM', () => process.exit(0));
  if (process.env.PORT) {
    http.createServer((q, r) => {
      if (q.url === '/env') return r.end(JSON.stringify(process.env));
      r.end('served ' + q.headers.host + ' ' + q.url);
    }).listen(process.env.PORT, process.env.HOST);
  } else if (tries === '') process.stdin.pipe(process.stdout);
  else (async () => {
    const results = [];
    for (const one of JSON.parse(tries)) results.push(await attempt(one));
    console.log(JSON.stringify(results));
    process.exit(0);
  })();`;

const scratch = mkdtempSync(join(tmpdir(), 'vmcp-isolation-'));
/** Files and variables of the image, which take part in its programs and must not take part in the relay. */
const OBTRUSIVE = {
  files: { '/etc/ld.so.preload': '/preloaded.so\n', '/etc/ssl/openssl.cnf': 'unusable\n' },
  libraries: ['/preloaded.so', '/vmcp/program/glibc-hwcaps/x86-64-v2/libm.so.6'],
  changes: [
    'ENTRYPOINT ["/node","--openssl-config=/dev/null","/server.cjs"]',
    'ENV LD_PRELOAD=/preloaded.so LD_LIBRARY_PATH=/vmcp OPENSSL_CONF=/etc/ssl/openssl.cnf NODE_OPTIONS=--title=image',
  ],
};
const { name: engine, env: hostEnv } = workingEngine(scratch, { image: IMAGE, server: SERVER, ...OBTRUSIVE });

const run = (...args: string[]): string => execFileSync(engine ?? '', args, { encoding: 'utf8', env: hostEnv }).trim();
const containers = (workload: string): string[] =>
  run('ps', '-a', '--format', '{{.Names}}', '--filter', `label=dev.vmcp.workload=${workload}`)
    .split('\n')
    .filter(Boolean);

let fixture: Fixture;
beforeEach(() => {
  fixture = openFixture({ hostEnv });
});
afterEach(() => fixture.close());
afterAll(() => {
  if (engine !== undefined) spawnSync(engine, ['rmi', '-f', IMAGE]);
  rmSync(scratch, { recursive: true, force: true });
});

/** Returns what a program in a container observes. */
async function observe(tries: readonly string[], container: ContainerOptions): Promise<unknown[]> {
  const process = { image: IMAGE, args: [JSON.stringify(tries)], container };
  const command = await fixture.launcher.prepare(process, 'observer');
  const child = fixture.launcher.spawn(command, { name: 'observer', stdin: false });
  const output = await text(child.stdout);
  await child.exited;
  if (output === '') throw new Error(child.lastStderr());
  return JSON.parse(output) as unknown[];
}

/** Sends a GET with a Host header of its own. */
const getWithHost = (port: number, host: string): Promise<string> =>
  new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path: '/page', headers: { host }, agent: false }, (reply) => {
      void text(reply).then((body) => {
        resolve(`${reply.statusCode ?? 0} ${body}`);
      });
    })
      .once('error', reject)
      .end();
  });

describe.runIf(engine)(`an isolated container under ${engine ?? 'an engine'}`, () => {
  /** Another container, as a host of the network. */
  const peer = `vmcp-test-peer-${process.pid}`;
  const onHost = createServer((_request, response) => response.end('host'));
  let [address, gateway, hostPort] = ['', '', 0];
  beforeAll(async () => {
    run('run', '-d', '--rm', '--name', peer, '--env', 'PORT=8000', '--env', 'HOST=0.0.0.0', IMAGE);
    address = run('inspect', '--format', '{{.NetworkSettings.IPAddress}}', peer);
    gateway = run('inspect', '--format', '{{.NetworkSettings.Gateway}}', peer);
    await new Promise<void>((resolve) => onHost.listen(0, '0.0.0.0', resolve));
    hostPort = (onHost.address() as { port: number }).port;
  });
  afterAll(() => {
    spawnSync(engine ?? '', ['rm', '-f', peer], { env: hostEnv });
    onHost.close();
  });

  it('would reach the host and other containers without isolation', async () => {
    expect(await observe([`direct:${address}:8000`, `direct:${gateway}:${hostPort}`], {})).toEqual(['open', 'open']);
  });

  it('reaches allowed hosts through the proxy and nothing else (rows 73 and 74)', async () => {
    const isolation = { allow_hosts: [address], allow_ports: [8000] };
    const observed = await observe(
      [
        'interfaces',
        `get:http://${address}:8000/plain`,
        `connect:${address}:8000`,
        `get:http://${address}:8001/`,
        'connect:192.0.2.99:8000',
        'get:http://no-such-host.invalid/',
        `direct:${address}:8000`,
        `direct:${gateway}:${hostPort}`,
        `connect:${gateway}:${hostPort}`,
        `connect:127.0.0.1:${hostPort}`,
        `connect:host.containers.internal:${hostPort}`,
        `direct:127.0.0.1:${hostPort}`,
      ],
      { isolation },
    );
    expect(observed).toEqual([
      ['lo'],
      `200 served ${address}:8000 /plain`,
      'served x /tunnel',
      expect.stringMatching(/^403 .*the permission profile does not allow it/u),
      403,
      expect.stringMatching(/^403 /u),
      'ENETUNREACH',
      'ENETUNREACH',
      403,
      403,
      403,
      'ECONNREFUSED',
    ]);
    const lines = fixture.logged.map(({ fields }) => fields['line']);
    expect(lines).toContain(`connections to ${address}:8001 are not allowed: the permission profile does not allow it`);
    expect(containers('observer')).toEqual([]);
    expect(readdirSync(join(fixture.stateDir, 'networks'))).toEqual([]);
    expect(readdirSync(join(fixture.stateDir, 'processes'))).toEqual([]);
  });

  it('is denied the container host even when all hosts are allowed, unless allow_container_gateway is set', async () => {
    const tries = [
      `connect:${address}:8000`,
      ...[`connect:${gateway}:${hostPort}`, `connect:127.0.0.1:${hostPort}`, `connect:localhost:${hostPort}`],
      `get:http://host.docker.internal:${hostPort}/`,
      'connect:169.254.169.254:80',
    ];
    const closed = await observe(tries, { isolation: { allow_all: true } });
    expect(closed).toEqual(['served x /tunnel', 403, 403, 403, expect.stringMatching(/^403 .*container host/u), 403]);
    const open = await observe(tries, { isolation: { allow_container_gateway: true } });
    expect(open).toEqual([403, 'host', 'host', 'host', '200 host', 403]);
  });

  it('gets the variables of the proxy, in both cases', async () => {
    const names = ['HTTP_PROXY', 'https_proxy', 'NO_PROXY', 'no_proxy'].map((name) => `env:${name}`);
    const proxy = 'http://127.0.0.1:3128';
    const local = 'localhost,127.0.0.1,::1';
    expect(await observe(names, { isolation: {} })).toEqual([proxy, proxy, local, local]);
    expect(await observe(names, {})).toEqual([null, null, null, null]);
  });

  it('serves HTTP on a loopback port, checks Host, and is removed with its relay (row 75)', async () => {
    const { log } = recordingLog();
    const book = openPortBook(join(fixture.stateDir, 'ports.json'));
    const [port, published] = [await book.portFor('web'), await book.portFor('published')];
    const container = { publish: [`${published}:3128`], isolation: { inbound_hosts: ['mcp.test'] } };
    const process = { image: IMAGE, target_port: 3128, container };
    const transport = 'streamable-http' as const;
    const now = () => performance.now();
    const workload = supervise({ launcher: fixture.launcher, process, name: 'web', port, transport, log, now });
    await until(() => workload.state().status === 'running', 60_000);
    expect(await getWithHost(port, `127.0.0.1:${port}`)).toBe(`200 served 127.0.0.1:${port} /page`);
    expect(await getWithHost(port, 'mcp.test')).toBe('200 served mcp.test /page');
    expect(await getWithHost(port, 'evil.test')).toMatch(/^403 .*Host header/u);
    expect(await getWithHost(published, 'evil.test')).toBe('200 served evil.test /page');
    const environment = await fetch(`http://127.0.0.1:${port}/env`).then((reply) => reply.json());
    expect(environment).toMatchObject({ PORT: '3128', HTTPS_PROXY: 'http://127.0.0.1:3129' });
    expect(containers('web')).toHaveLength(2);
    await workload.stop();
    expect(containers('web')).toEqual([]);
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
  });

  it('without a network serves HTTP too, and has no proxy', async () => {
    const port = await openPortBook(join(fixture.stateDir, 'ports.json')).portFor('closed');
    const process = { image: IMAGE, container: { network: 'none', isolation: { allow_all: true } } };
    const command = await fixture.launcher.prepare(process, 'closed', { port });
    const child = fixture.launcher.spawn(command, { name: 'closed', stdin: false });
    let reply: Record<string, string> | undefined;
    for (let tries = 0; reply === undefined && tries < 300; tries += 1) {
      reply = await fetch(`http://127.0.0.1:${port}/env`).then(
        (response) => response.json() as Promise<Record<string, string>>,
        () => undefined,
      );
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(reply).toMatchObject({ PORT: '8080' });
    expect(reply).not.toHaveProperty('HTTP_PROXY');
    await child.stop(1_000);
  });

  it('is restarted as a whole when its relay is killed', async () => {
    const command = await fixture.launcher.prepare({ image: IMAGE, container: { isolation: {} } }, 'orphaned');
    const child = fixture.launcher.spawn(command, { name: 'orphaned', stdin: true });
    child.stdin?.write('ping\n');
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const relay = containers('orphaned').find((name) => name.includes('-relay-')) ?? '';
    spawnSync(engine ?? '', ['kill', relay], { env: hostEnv });
    await child.exited;
    expect(child.lastStderr()).toBe('the relay of the isolated network ended');
    expect(containers('orphaned')).toEqual([]);
  });

  it('has a relay that runs no file of the image (row 111)', async () => {
    const command = await fixture.launcher.prepare({ image: IMAGE, container: { isolation: {} } }, 'own');
    const child = fixture.launcher.spawn(command, { name: 'own', stdin: true });
    child.stdin?.write('ping\n');
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const filesOf = (name: string): string[] => {
      const pid = run('inspect', '--format', '{{.State.Pid}}', name);
      const paths = readFileSync(`/proc/${pid}/maps`, 'utf8').matchAll(/ (\/\S+)$/gmu);
      return [...new Set([...paths].map(([, path = '']) => path))];
    };
    const names = containers('own');
    const [relay = '', server = ''] = names.toSorted((a) => (a.includes('-relay-') ? -1 : 1));
    expect(filesOf(server)).toContain('/preloaded.so');
    const folders = new Set(filesOf(relay).map((path) => dirname(path)));
    expect([...folders]).toEqual([expect.stringMatching(/^\/vmcp\/program\/\d[^/]+$/u)]);
    await child.stop(1_000);
  });

  it('mounts volumes and has the labels of the configuration', async () => {
    const [readable, writable] = ['readable', 'with space'].map((name) => join(scratch, name));
    for (const folder of [readable, writable]) mkdirSync(folder ?? '', { recursive: true });
    const container = {
      volumes: [`${readable ?? ''}:/in:ro`, `${writable ?? ''}:/out`],
      labels: { team: '$(touch /tmp/x) "a"' },
      isolation: {},
    };
    expect(await observe(['write:/in/file', 'write:/out/file'], container)).toEqual(['EROFS', 'written']);
    expect(readdirSync(writable ?? '')).toEqual(['file']);
    const missing = { image: IMAGE, container: { volumes: ['/no/such/folder:/data'] } };
    await expect(fixture.launcher.prepare(missing, 'missing')).rejects.toMatchObject({ reason: 'MountNotFound' });
  });
});

describe.runIf(engine)('kill -9 of vmcp', () => {
  it('removes the server and the relay of an isolated container', async () => {
    const stateDir = mkdtempSync(join(scratch, 'state-'));
    const owner = join(scratch, 'owner.ts');
    const launcher = join(import.meta.dirname, '..', 'launcher.ts');
    writeFileSync(
      owner,
      `import { createLauncher } from ${JSON.stringify(launcher)};
       const log = { info: () => undefined, warn: () => undefined };
       const stateDir = ${JSON.stringify(stateDir)};
       const launcher = createLauncher({ stateDir, projectRoot: stateDir, hostEnv: process.env, log });
       const process_ = { image: ${JSON.stringify(IMAGE)}, container: { isolation: {} } };
       const child = launcher.spawn(await launcher.prepare(process_, 'killed'), { name: 'killed', stdin: true });
       child.stdin.write('ready\\n');
       child.stdout.pipe(process.stdout);
       setTimeout(() => void launcher.close(0), 100_000).unref();`,
    );
    const vmcp: ChildProcess = spawn(process.execPath, [owner], {
      env: hostEnv,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((resolve) => {
      vmcp.stdout?.once('data', resolve);
      vmcp.once('exit', resolve);
    });
    expect(containers('killed')).toHaveLength(2);
    vmcp.kill('SIGKILL');
    await expect.poll(() => containers('killed'), { timeout: 30_000 }).toEqual([]);
  });
});
