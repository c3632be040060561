import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../../gateway/audit/event.ts';
import { eventually } from '../../harness/poll.ts';
import { testScope } from '../../harness/scope.ts';
import { temporaryFolder } from '../../harness/vmcp.ts';
import { callsIn, eventsOfFile, wholeLines } from './lines.ts';
import { startAudited } from './start-gateway.ts';

/** Returns the argument of a recorded call of `echo`. */
const textOf = ({ data }: AuditEvent): string =>
  (data!.request as { readonly arguments: { readonly text: string } }).arguments.text;

/** Calls `act` until the returned function is called, which returns the number of calls. */
function repeat(act: () => Promise<unknown>): () => Promise<number> {
  let count = 0;
  const stop = new AbortController();
  const done = (async () => {
    for (; !stop.signal.aborted; count += 1) await act();
  })();
  return async () => {
    stop.abort();
    await done;
    return count;
  };
}

describe('an audit log in a file', () => {
  it('is readable by its owner only, and is opened again at SIGHUP without losing an event', async () => {
    const { file, call, signal, running, stop } = await startAudited(testScope());
    await eventually('the file exists', () => existsSync(file));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const end = repeat(async () => expect(await call('x')).toBe(200));
    const rotated = [`${file}.1`, `${file}.2`];
    for (const name of rotated) {
      await eventually('the file has calls', () => callsIn(wholeLines(file)).length > 0);
      renameSync(file, name);
      signal('SIGHUP');
      await eventually('the file is new', () => existsSync(file));
    }
    const count = await end();
    expect(running()).toBe(true);
    await stop();
    const texts = [...rotated, file].map((name) => readFileSync(name, 'utf8'));
    expect(texts.flatMap(callsIn)).toHaveLength(count);
    expect(callsIn(texts[0] ?? '').length).toBeGreaterThan(0);
    expect(callsIn(texts[1] ?? '').length).toBeGreaterThan(0);
  });

  it('has all events except those of the last second after SIGKILL under load', async () => {
    const scope = testScope();
    const folder = await temporaryFolder(scope);
    const first = await startAudited(scope, { includeRequestData: true }, { folder });
    /** Time of the answer of each call, by its argument. */
    const answered = new Map<string, number>();
    let sent = 0;
    let isSlow = false;
    const ends = Array.from({ length: 16 }, () =>
      repeat(async () => {
        const text = `call ${String((sent += 1))}`;
        const status = await first.call(text).catch(() => sleep(10));
        if (status === 200) answered.set(text, performance.now());
        if (isSlow) await sleep(20);
      }),
    );
    await sleep(1_000);
    // then so few calls that only time makes the gateway write
    const [last, ...others] = ends;
    await Promise.all(others.map((end) => end()));
    isSlow = true;
    await sleep(3_000);
    const killedAt = performance.now();
    first.signal('SIGKILL');
    await first.exited;
    await last?.();
    const text = wholeLines(first.file);
    const recorded = new Set(callsIn(text).map(textOf));
    // one second more: on a busy machine timers are late
    const old = [...answered].filter(([, at]) => at < killedAt - 2_000).map(([argument]) => argument);
    expect(old.length).toBeGreaterThan(10);
    expect(old.filter((argument) => !recorded.has(argument))).toEqual([]);
    // a line that was cut stays alone when the next process appends
    writeFileSync(first.file, `${text}{"cut":`);
    const second = await startAudited(scope, {}, { folder });
    await second.call('y');
    await second.stop();
    const lines = readFileSync(second.file, 'utf8').split('\n');
    expect(lines).toContain('{"cut":');
    expect(callsIn(lines.slice(lines.indexOf('{"cut":') + 1).join('\n'))).toHaveLength(1);
  });

  it.each<[string, (folder: string) => string, RegExp]>([
    ['is a folder', (folder) => folder, /audit logFile: \S+ is a folder: name a file in it/u],
    [
      'has no folder',
      (folder) => join(folder, 'none', 'audit.log'),
      /audit logFile: \S+ cannot be created, because its folder does not exist/u,
    ],
    [
      'is a pipe',
      (folder) => {
        spawnSync('mkfifo', [join(folder, 'pipe')]);
        return join(folder, 'pipe');
      },
      /audit logFile: \S+ is a pipe that nobody reads/u,
    ],
    ['is a device', () => '/dev/null', /audit logFile: \/dev\/null is not a file/u],
  ])('stops the start when it %s', async (_what, path, message) => {
    const folder = await temporaryFolder(testScope());
    const run = await startAudited(testScope(), { logFile: path(folder) });
    expect((await run.exited).code).toBe(2);
    expect(run.stderr()).toMatch(message);
  });
});

describe('audit_config_path', () => {
  const withFile = async (content: string) => {
    const folder = await temporaryFolder(testScope());
    const path = join(folder, 'audit.json');
    writeFileSync(path, content);
    return startAudited(testScope(), {}, { members: { audit_config: undefined, audit_config_path: path } });
  };

  it('names a file with the settings', async () => {
    const folder = await temporaryFolder(testScope());
    const logFile = join(folder, 'other.log');
    const { call, stop } = await withFile(
      JSON.stringify({ logFile, component: 'from-file', eventTypes: ['mcp_tool_call'] }),
    );
    await call('x');
    await stop();
    expect(eventsOfFile(logFile)).toEqual([expect.objectContaining({ component: 'from-file', type: 'mcp_tool_call' })]);
  });

  it.each([
    ['{', /audit_config_path: \S+: must be a JSON object/u],
    [
      '{"eventTypes":["tool_call"]}',
      /audit_config_path: \S+: eventTypes\[0\]: "tool_call" is no event type: use mcp_initialize, /u,
    ],
    ['{"logfile":"x"}', /audit_config_path: \S+: logfile: /u],
  ])('stops the start when the file holds %s', async (content, message) => {
    const run = await withFile(content);
    expect((await run.exited).code).toBe(2);
    expect(run.stderr()).toMatch(message);
  });
});

/** Mounts a disk of 1 MiB at a folder, in a mount namespace that ends with the command that follows. */
const withSmallDisk = (folder: string): string[] => [
  ...['unshare', '--mount', '--propagation', 'private', 'sh', '-c'],
  'mount -t tmpfs -o size=1m,mode=700 none "$0" && exec "$@"',
  folder,
];
const canMount = (): boolean => {
  const [program = '', ...args] = withSmallDisk('/mnt');
  return spawnSync(program, [...args, 'true']).status === 0;
};

describe.runIf(canMount())('an audit log on a full disk', () => {
  it('never delays calls, counts dropped events, and recovers by itself', async () => {
    const scope = testScope();
    const folder = await temporaryFolder(scope);
    const big = { includeRequestData: true, maxDataSize: 200_000 };
    const gateway = await startAudited(scope, big, { folder, launcher: withSmallDisk(folder) });
    const disk = `/proc/${String(gateway.pid)}/root${folder}`;
    let answered = 0;
    const text = 'x'.repeat(100_000);
    await eventually('events are dropped', async () => {
      for (let call = 0; call < 20; call += 1) {
        expect(await gateway.call(text)).toBe(200);
        answered += 1;
      }
      return (await gateway.dropped('write_failed')) > 0;
    });
    const logged = (message: string) =>
      gateway
        .stderr()
        .split('\n')
        .filter((line) => line.includes(message));
    expect(logged('audit events cannot be written')).toHaveLength(1);
    expect(logged('audit events cannot be written')[0]).toContain('ENOSPC');

    const { status } = spawnSync('nsenter', [
      ...['--mount', '--target', String(gateway.pid)],
      ...['mount', '-o', 'remount,size=100m', folder],
    ]);
    expect(status).toBe(0);
    await eventually('the log is written again', () => logged('audit events are written again').length > 0);
    const lost = await gateway.dropped('write_failed');
    await eventually('the queue is written', () => {
      const text = readFileSync(join(disk, 'audit.log'), 'utf8');
      return callsIn(text.slice(0, text.lastIndexOf('\n') + 1)).length === answered - lost;
    });
    expect(await gateway.dropped('queue_full')).toBe(0);
  });
});
