import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { reportProgress } from './install-progress.ts';

const facts = { workload: 'files', package: 'files@latest' };

describe('reportProgress', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'vmcp-progress-'));
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  });
  afterEach(() => {
    vi.useRealTimers();
    rmSync(dir, { recursive: true, force: true });
  });

  /** Runs an installation for `ms` and returns its lines. */
  async function linesDuring(ms: number, count: number, folder?: string): Promise<object[]> {
    const lines: { readonly message: string; readonly seconds?: number }[] = [];
    const log = { info: (message: string, fields?: object) => void lines.push({ message, ...fields }) };
    const { promise, resolve } = Promise.withResolvers<string>();
    const done = reportProgress({ facts, log, ...(folder !== undefined && { dir: folder }) }, () => promise);
    vi.advanceTimersByTime(ms);
    resolve('installed');
    expect(await done).toBe('installed');
    vi.advanceTimersByTime(60_000);
    await vi.waitFor(() => {
      expect(lines).toHaveLength(count);
    });
    // the files of all lines are counted at the same time here
    return lines.toSorted((one, other) => (one.seconds ?? 0) - (other.seconds ?? 0));
  }

  it('logs nothing about a short installation', async () => {
    expect(await linesDuring(2_000, 0)).toEqual([]);
  });

  it('logs name, seconds and number of files at least every 3 s', async () => {
    writeFileSync(join(dir, 'a'), '');
    writeFileSync(join(dir, 'b'), '');
    expect(await linesDuring(5_100, 2, dir)).toEqual([
      { message: 'still installing', ...facts, seconds: 2, files: 2 },
      { message: 'still installing', ...facts, seconds: 5, files: 2 },
    ]);
  });

  it('logs no number of files without a folder, or before it exists', async () => {
    const line = { message: 'still installing', ...facts, seconds: 2 };
    expect(await linesDuring(2_600, 1)).toEqual([line]);
    expect(await linesDuring(2_600, 1, join(dir, 'later'))).toEqual([line]);
  });

  it('stops after a failed installation', async () => {
    const info = vi.fn();
    await expect(reportProgress({ facts, log: { info } }, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    vi.advanceTimersByTime(60_000);
    expect(info).not.toHaveBeenCalled();
  });
});
