import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { removeEnvFile, writeEnvFile } from './owned-entries.ts';
import { identityOf, startTime } from './process-lock.ts';
import { reapOrphans } from './reaper.ts';
import { writeRecord, type ProcessRecord } from './records.ts';
import { isRunning, until } from '../testdata/fixture.ts';

let stateDir: string;
const started: ChildProcess[] = [];

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'vmcp-orphans-'));
});
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  rmSync(stateDir, { recursive: true, force: true });
});

const reap = () => reapOrphans({ stateDir, hostEnv: process.env, graceMs: 100 });

/** Starts testdata/owner.ts and waits until its child and grandchild run. */
async function startOwner() {
  const args = [join(import.meta.dirname, '..', 'testdata', 'owner.ts'), stateDir];
  const owner = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(owner);
  const line = await new Promise<string>((resolve) =>
    owner.stdout.once('data', (data: Buffer) => resolve(data.toString())),
  );
  const { child, grandchild } = JSON.parse(line) as { child: number; grandchild: number };
  return { owner, ownerPid: owner.pid ?? -1, child, grandchild };
}

/** Children of `parent` that run the guard's shell. */
function guardOf(parent: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      const ppid = /\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1];
      return Number(ppid) === parent && readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith('/bin/sh');
    } catch {
      return false;
    }
  });
}

/** Starts a process in its own group, like one left by an earlier vmcp process. */
function leaveBehind(more: Partial<ProcessRecord> = {}): number {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' });
  started.push(child);
  const pid = child.pid ?? -1;
  const owner = { pid: 4_194_303, startTime: 'long ago' };
  const record = { pid, pgid: pid, startTime: startTime(pid) ?? '', name: 'left', command: ['node'], owner, ...more };
  writeRecord(stateDir, record);
  return pid;
}

const records = () => readdirSync(join(stateDir, 'processes'));

describe('kill -9 of vmcp', () => {
  it('ends its children and grandchildren at once, even if they ignore SIGTERM and the end of stdin', async () => {
    const { owner, child, grandchild } = await startOwner();
    expect([isRunning(child), isRunning(grandchild)]).toEqual([true, true]);
    owner.kill('SIGKILL');
    await until(() => !isRunning(child) && !isRunning(grandchild), 5_000);
  });

  it.runIf(process.platform === 'linux')('is cleaned up by the next start when the guard was killed too', async () => {
    const { owner, ownerPid, child, grandchild } = await startOwner();
    const guards = guardOf(ownerPid);
    expect(guards).toHaveLength(1);
    for (const guard of guards) process.kill(guard, 'SIGKILL');
    owner.kill('SIGKILL');
    await until(() => !isRunning(ownerPid));
    expect([isRunning(child), isRunning(grandchild)]).toEqual([true, true]);

    expect(await reap()).toMatchObject([{ pid: child, name: 'stubborn' }]);
    await until(() => !isRunning(child) && !isRunning(grandchild));
    expect(records()).toEqual([]);
  });

  it('lets the guard exit', async () => {
    const { owner, ownerPid } = await startOwner();
    const guards = process.platform === 'linux' ? guardOf(ownerPid) : [];
    owner.kill('SIGKILL');
    await until(() => !guards.some(isRunning), 5_000);
  });
});

describe('reapOrphans', () => {
  it('ends processes left by a process that is gone', async () => {
    const pid = leaveBehind();
    expect((await reap()).map((record) => record.pid)).toEqual([pid]);
    await until(() => !isRunning(pid));
    expect(records()).toEqual([]);
  });

  it('spares a later process with the same id', async () => {
    const pid = leaveBehind({ startTime: 'another time' });
    expect(await reap()).toEqual([]);
    expect(isRunning(pid)).toBe(true);
    expect(records()).toEqual([]);
  });

  it('spares the children of a running vmcp process', async () => {
    const pid = leaveBehind({ owner: identityOf(process.pid) });
    expect(await reap()).toEqual([]);
    expect(isRunning(pid)).toBe(true);
    expect(records()).toEqual([`${pid}.json`]);
  });

  it('removes truncated records and records that address every process', async () => {
    const folder = join(stateDir, 'processes');
    mkdirSync(folder, { recursive: true });
    const owner = { pid: 4_194_303, startTime: 'x' };
    writeFileSync(join(folder, '1.json'), '{"pid":');
    writeFileSync(join(folder, '2.json'), JSON.stringify({ pid: 1, pgid: 1, startTime: 'x', command: [], owner }));
    expect(await reap()).toEqual([]);
    expect(records()).toEqual([]);
  });

  it('removes only env files of processes that are gone', async () => {
    const own = writeEnvFile(stateDir, { KEY: 'value' });
    const folder = join(stateDir, 'env-files');
    for (const name of ['4194303_gone_1', `${process.pid}_an%20earlier%20process_2`, 'of nobody']) {
      writeFileSync(join(folder, name), 'KEY=value\n');
    }
    await reap();
    expect(readdirSync(folder).map((name) => join(folder, name))).toEqual([own]);
    removeEnvFile(own);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('does nothing in a new state folder', async () => {
    expect(await reap()).toEqual([]);
  });
});
