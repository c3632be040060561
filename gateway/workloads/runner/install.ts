import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tryLock } from './process/process-lock.ts';

const POLL_MS = 100;

/**
 * Runs `build` unless `dir` is complete. Other processes with the same `dir` wait for it.
 * Within one process call it once per `dir` at a time: the lock distinguishes only processes.
 */
export async function installOnce(dir: string, build: () => Promise<void>): Promise<void> {
  const marker = join(dir, '.complete');
  await mkdir(dirname(dir), { recursive: true, mode: 0o700 });
  while (!existsSync(marker)) {
    const lock = tryLock(`${dir}.lock`);
    if (!lock.held) {
      await sleep(POLL_MS);
      continue;
    }
    try {
      if (existsSync(marker)) return;
      await rm(dir, { recursive: true, force: true });
      await build();
      await writeFile(marker, '');
    } finally {
      lock.release();
    }
  }
}
