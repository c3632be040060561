import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { identityOf, isAlive, tryLock } from './process-lock.ts';

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'vmcp-lock-'));
  path = join(dir, 'lock');
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

/** Runs another process, which exits with 0 when it gets the lock. */
const RIVAL = `
  import { tryLock } from ${JSON.stringify(join(import.meta.dirname, 'process-lock.ts'))};
  const lock = tryLock(process.argv[1]);
  if (!lock.held) { console.log(lock.holder.pid); process.exit(1); }
  await new Promise((resolve) => setTimeout(resolve, Number(process.argv[2])));
`;
const rivalArgs = (holdMs: number) => ['--input-type=module', '-e', RIVAL, path, String(holdMs)];

describe('tryLock', () => {
  it('names the running holder, and is free after a release', () => {
    const first = tryLock(path);
    expect(first.held).toBe(true);
    expect(tryLock(path)).toEqual({ held: false, holder: identityOf(process.pid) });
    const rival = spawnSync(process.execPath, rivalArgs(0), { encoding: 'utf8' });
    expect([rival.status, rival.stdout.trim()]).toEqual([1, String(process.pid)]);
    if (first.held) first.release();
    expect(tryLock(path).held).toBe(true);
    expect(readdirSync(dir)).toEqual(['lock']);
  });

  it('takes over from a process that ended without a release', () => {
    expect(spawnSync(process.execPath, rivalArgs(0)).status).toBe(0);
    expect(readdirSync(dir)).toEqual(['lock']);
    expect(tryLock(path).held).toBe(true);
  });

  it.each([
    ['a later process with the same id', JSON.stringify({ pid: process.pid, startTime: 'earlier' })],
    ['a crash during a write', '{"pid":'],
  ])('takes over after %s', (_what, content) => {
    writeFileSync(path, content);
    expect(tryLock(path).held).toBe(true);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(identityOf(process.pid));
  });

  it('gives a stale lock to exactly one of several processes', async () => {
    writeFileSync(path, JSON.stringify({ pid: 4_194_303, startTime: 'gone' }));
    const run = promisify(execFile);
    const outcomes = await Promise.all(
      Array.from({ length: 5 }, () =>
        run(process.execPath, rivalArgs(3_000)).then(
          () => 'held',
          () => 'refused',
        ),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === 'held')).toHaveLength(1);
  });

  it('does not release the lock of a successor', () => {
    const first = tryLock(path);
    writeFileSync(path, JSON.stringify({ pid: 1, startTime: 'x' }));
    if (first.held) first.release();
    expect(readdirSync(dir)).toEqual(['lock']);
  });
});

describe('isAlive', () => {
  it('returns true for this process and false for an ended one', () => {
    const ended = spawnSync(process.execPath, ['-e', '']);
    expect(isAlive(identityOf(process.pid))).toBe(true);
    expect(isAlive(identityOf(ended.pid))).toBe(false);
  });
});
