import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { mkdirSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openPortBook } from './ports.ts';
import { LaunchError } from './runner.ts';
import { supervise, type SuperviseOptions, type SupervisedServer } from './supervise.ts';
import { isRunning, openFixture, recordingLog, until, type Fixture, type LogEntry } from './testdata/fixture.ts';

const LISTEN = `const server = require('node:http').createServer((q, r) => r.end(String(process.pid)));
  server.listen(process.env.PORT, process.env.HOST);`;

const EVERYTHING = 'npx://@modelcontextprotocol/server-everything';

let fixture: Fixture;
let logged: LogEntry[];
const running: SupervisedServer[] = [];

beforeEach(() => {
  fixture = openFixture();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((workload) => workload.stop(100)));
  await fixture.close();
});

/** Starts supervising a package `tool` that runs `code`. */
async function start(code: string, more: Partial<SuperviseOptions> = {}): Promise<SupervisedServer> {
  const project = join(fixture.stateDir, 'project');
  const dir = join(project, 'node_modules', 'tool');
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ version: '1.0.0', bin: 'tool.cjs' }));
  writeFileSync(join(dir, 'tool.cjs'), code);
  const own = openFixture({ projectRoot: project });
  const { log, logged: entries } = recordingLog();
  logged = entries;
  const workload = supervise({
    launcher: own.launcher,
    process: { image: 'npx://tool' },
    name: 'demo',
    port: await openPortBook(join(fixture.stateDir, 'workload-ports.json')).portFor('default/demo'),
    transport: 'streamable-http',
    log,
    now: () => performance.now(),
    pauseMs: () => 50,
    ...more,
  });
  running.push({
    ...workload,
    stop: async (graceMs) => {
      await workload.stop(graceMs);
      await own.close();
    },
  });
  return workload;
}

const fail = (): never => {
  throw new Error('nothing was prepared');
};
const crashes = () => logged.filter(({ message }) => message === 'workload ended');
const pidOf = async (workload: SupervisedServer) =>
  Number(await (await fetch(`http://127.0.0.1:${workload.port}`)).text());

describe('supervise', () => {
  it('starts the server on its port and stops it completely', async () => {
    const workload = await start(LISTEN);
    expect(workload.state()).toMatchObject({ status: 'installing', restarts: 0 });
    await until(() => workload.state().status === 'running');
    const pid = await pidOf(workload);
    await workload.stop();
    expect(workload.state()).toMatchObject({ status: 'stopped', restarts: 0 });
    expect(isRunning(pid)).toBe(false);
    expect(crashes()).toEqual([]);
  });

  it('restarts a server that was killed, on the same port', async () => {
    const workload = await start(LISTEN);
    await until(() => workload.state().status === 'running');
    const first = await pidOf(workload);
    process.kill(first, 'SIGKILL');
    await until(() => workload.state().restarts === 1 && workload.state().status === 'running');
    expect(await pidOf(workload)).not.toBe(first);
    expect(workload.state().lastExit).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('reports a crash loop and logs each crash once, with the reason', async () => {
    const counts: number[] = [];
    const pauseMs = (restarts: number) => counts.push(restarts) * 20;
    const workload = await start(`console.error('no API_KEY'); process.exit(9);`, { pauseMs });
    await until(() => workload.state().restarts >= 3);
    expect(counts.slice(0, 3)).toEqual([1, 2, 3]);
    expect(crashes()[0]?.fields).toMatchObject({ workload: 'demo', exitCode: 9, signal: null, lastLine: 'no API_KEY' });
    expect(workload.state().lastExit).toEqual({ code: 9, signal: null });
    await workload.stop();
    expect(crashes().length).toBe(counts.length);
  });

  it('gives up after ten restarts in a row, with the exit code', async () => {
    const seen: number[] = [];
    const pauseMs = (restarts: number) => seen.push(restarts) * 0;
    const workload = await start(`process.exit(9);`, { pauseMs, maxRestarts: 10 });
    await until(() => workload.state().status === 'failed');
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(workload.state()).toMatchObject({
      lastExit: { code: 9 },
      problem: { reason: 'CrashLoop', message: expect.stringMatching(/^it ended with exit code 9 after/u) as string },
    });
  });

  it('resets the restart count after a minute of uptime', async () => {
    const counts: number[] = [];
    let clock = 0;
    await start(`process.exit(1)`, {
      now: () => (clock += 60_000),
      pauseMs: (restarts) => counts.push(restarts) && 10,
    });
    await until(() => counts.length >= 3);
    expect(counts.slice(0, 3)).toEqual([1, 1, 1]);
  });

  it('can be stopped during a pause', async () => {
    const workload = await start(`process.exit(1)`, { pauseMs: () => 60_000 });
    await until(() => workload.state().status === 'backoff');
    await workload.stop();
    expect(workload.state()).toMatchObject({ status: 'stopped', restarts: 0, lastExit: { code: 1 } });
  });

  const failsToPrepare = (failure: LaunchError, onPrepare: () => void) => ({
    prepare: () => {
      onPrepare();
      return Promise.reject(failure);
    },
    spawn: () => fail(),
  });
  const refusals = () => logged.filter(({ message }) => message === 'workload not started');

  it('retries a temporary preparation failure and reports the reason', async () => {
    let prepared = 0;
    const failure = new LaunchError('InstallFailed', 'npm install x failed (https://user:canary@registry): try again');
    const workload = await start('', { launcher: failsToPrepare(failure, () => (prepared += 1)) });
    await until(() => workload.state().restarts >= 2);
    expect(prepared).toBeGreaterThanOrEqual(2);
    expect(workload.state().problem).toEqual({
      reason: 'InstallFailed',
      message: 'the start is retried, and the log has the reason',
      permanent: false,
    });
  });

  it.each(['PackageNotFound', 'PackageHasNoBin', 'InvalidImageReference'] as const)(
    'gives up at once when the reason is %s, which it logs once and shows',
    async (reason) => {
      let prepared = 0;
      const message = 'npm has no package x: check its name';
      const launcher = failsToPrepare(new LaunchError(reason, message), () => (prepared += 1));
      const workload = await start('', { launcher, pauseMs: () => 0 });
      await until(() => workload.state().status === 'failed');
      await new Promise((resolve) => setImmediate(resolve));
      expect(prepared).toBe(1);
      expect(workload.state().problem).toEqual({ reason, message, permanent: true });
      expect(refusals()).toMatchObject([{ level: 'warn', fields: { workload: 'demo', reason, error: message } }]);
      await workload.stop();
      expect(workload.state().status).toBe('stopped');
    },
  );

  it('waits for a container engine for ever, and counts no restarts meanwhile', async () => {
    const pauses: number[] = [];
    const failure = new LaunchError('NoContainerEngine', 'neither docker nor podman responds');
    const pauseMs = (restarts: number) => pauses.push(restarts) * 0;
    const workload = await start('', { launcher: failsToPrepare(failure, () => undefined), pauseMs, maxRestarts: 2 });
    await until(() => pauses.length >= 5);
    expect(new Set(pauses)).toEqual(new Set([1]));
    expect(workload.state()).toMatchObject({ problem: { reason: 'NoContainerEngine', permanent: false } });
  });

  it('ends when the launcher is closed', async () => {
    const workload = await start(LISTEN, { launcher: fixture.launcher, process: { image: EVERYTHING } });
    await fixture.launcher.close(500);
    await until(() => workload.state().status === 'stopped');
    expect(workload.state().problem?.reason).toBe('LauncherClosed');
  });

  it('stops at once during an install', async () => {
    const workload = await start('', {
      launcher: { prepare: () => new Promise(() => undefined), spawn: () => fail() },
    });
    await workload.stop();
    expect(workload.state().status).toBe('stopped');
  });

  it('warns once about a server that does not open its port', async () => {
    const workload = await start(`setInterval(() => {}, 1000)`, { openWithinMs: 100 });
    const warnings = () => logged.filter(({ message }) => message.startsWith('workload has not opened its port'));
    await until(() => warnings().length > 0);
    expect(workload.state().status).toBe('late');
    expect(warnings()).toMatchObject([{ fields: { workload: 'demo', port: workload.port } }]);
  });
});

describe('openPortBook', () => {
  const file = () => join(fixture.stateDir, 'book.json');
  const listen = (port: number) =>
    new Promise<Server>((resolve) => {
      const server = createServer().listen(port, '127.0.0.1', () => resolve(server));
    });

  it('assigns different ports to concurrent callers, and the same ones after a restart', async () => {
    const book = openPortBook(file());
    const ports = await Promise.all(['a', 'b', 'c', 'd'].map((name) => book.portFor(name)));
    expect(new Set(ports).size).toBe(4);
    const later = openPortBook(file());
    expect([await later.portFor('d'), await later.portFor('a')]).toEqual([ports[3], ports[0]]);
  });

  it('uses the preferred port if it is free, else another', async () => {
    const [preferred, second] = await Promise.all([
      openPortBook(file()).portFor('x'),
      openPortBook(file()).portFor('y'),
    ]);
    const book = openPortBook(join(fixture.stateDir, 'other.json'));
    expect(await book.portFor('a', preferred)).toBe(preferred);
    expect(await book.portFor('b', preferred)).not.toBe(preferred);
    const server = await listen(second);
    expect(await book.portFor('c', second)).not.toBe(second);
    server.close();
  });

  it('keeps the port of a restarted workload and follows a changed preference', async () => {
    const book = openPortBook(file());
    const first = await book.portFor('a');
    expect(await book.portFor('a')).toBe(first);
    const wanted = await openPortBook(join(fixture.stateDir, 'other.json')).portFor('x');
    expect(await book.portFor('a', wanted)).toBe(wanted);
    expect(await book.portFor('a')).toBe(wanted);
  });

  it('moves a workload whose port another program uses', async () => {
    const port = await openPortBook(file()).portFor('a');
    const server = await listen(port);
    expect(await openPortBook(file()).portFor('a')).not.toBe(port);
    server.close();
  });

  it('ignores a damaged file', async () => {
    writeFileSync(file(), '{"a":"x","b":-1,');
    expect(await openPortBook(file()).portFor('a')).toBeGreaterThan(0);
  });
});
