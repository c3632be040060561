import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { python } from '../python.ts';
import type { RunClient, Transcript } from './client.ts';

const script = join(dirname(fileURLToPath(import.meta.url)), 'client.py');

/** The Python SDK; `auto` is its default and tries 2026-07-28 first. */
export const pythonSdk =
  (mode: 'legacy' | 'auto'): RunClient =>
  async (target, steps) => {
    const args = [script, JSON.stringify(target), JSON.stringify(steps), mode];
    const limits = { timeout: 60_000, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 } as const;
    const { stdout } = await promisify(execFile)(await python(), args, limits);
    return JSON.parse(stdout) as Transcript;
  };
