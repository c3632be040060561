import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { watchPaths, type PathsWatcher } from './watch-paths.ts';

let dir: string;
let calls: number;
let watcher: PathsWatcher | undefined;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'vmcp-watch-'));
  calls = 0;
});
afterEach(async () => {
  await watcher?.close();
  rmSync(dir, { recursive: true, force: true });
});

function start(path: string, onChange: () => Promise<void> = () => Promise.resolve()): void {
  watcher = watchPaths([path], () => {
    calls += 1;
    return onChange();
  });
}

/** Expects one call for a change, and none afterwards. */
async function noticed(count: number): Promise<void> {
  await vi.waitFor(
    () => {
      expect(calls).toBe(count);
    },
    { timeout: 5_000 },
  );
}

it('reports every save of an editor that replaces the file', async () => {
  const file = join(dir, 'a.yaml');
  writeFileSync(file, '0');
  start(file);
  for (let save = 1; save <= 3; save += 1) {
    writeFileSync(`${file}~`, String(save));
    renameSync(`${file}~`, file);
    await noticed(save);
  }
  rmSync(file);
  writeFileSync(file, 'again');
  await noticed(4);
});

it('reports changes of the .env beside a file', async () => {
  const file = join(dir, 'a.yaml');
  writeFileSync(file, '0');
  start(file);
  writeFileSync(join(dir, '.env'), 'A=1');
  await noticed(1);
});

it('ignores other files of the folder', async () => {
  const file = join(dir, 'a.yaml');
  writeFileSync(file, '0');
  start(file);
  writeFileSync(join(dir, 'b.yaml'), '1');
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(calls).toBe(0);
});

it('reports changes in folders created later', async () => {
  start(dir);
  mkdirSync(join(dir, 'new'));
  writeFileSync(join(dir, 'new', 'a.yaml'), '0');
  await noticed(1);
  writeFileSync(join(dir, 'new', 'a.yaml'), '1');
  await noticed(2);
});

it('reports files of a folder that are replaced, overwritten and removed', async () => {
  const file = join(dir, 'a.yaml');
  writeFileSync(file, '0');
  start(dir);
  writeFileSync(join(dir, '.draft'), '1');
  renameSync(join(dir, '.draft'), file);
  await noticed(1);
  writeFileSync(file, '2');
  await noticed(2);
  rmSync(file);
  await noticed(3);
});

it('waits for a running call when it is closed', async () => {
  const file = join(dir, 'a.yaml');
  writeFileSync(file, '0');
  const release = Promise.withResolvers<undefined>();
  start(file, () => release.promise);
  writeFileSync(file, '1');
  await noticed(1);
  let closed = false;
  const closing = watcher?.close().then(() => (closed = true));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(closed).toBe(false);
  release.resolve(undefined);
  await closing;
  expect(closed).toBe(true);
});
