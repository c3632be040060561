import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const built = existsSync(join(import.meta.dirname, '../../../dist/operator/cli/main.js'));

interface Ended {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

const soak = (...argv: string[]): Promise<Ended> =>
  new Promise((resolve) => {
    execFile(process.execPath, [join(import.meta.dirname, 'main.ts'), ...argv], (error, stdout, stderr) => {
      resolve({ code: error ? error.code : 0, stdout, stderr });
    });
  });

it.runIf(built)('a soak of seconds reads the heap twice and fails no call', { timeout: 150_000 }, async () => {
  const { stdout, stderr } = await soak('--minutes', '0.1', '--slice', '3', '--pause', '0.2', '--workers', '2');
  expect(stdout).toMatch(/^W8 soak: 0\.1 min, \d+ sessions, 0 kinds of failure; .* slope -?\d+\.\d\d MiB\/h/);
  expect(stderr.match(/heap \d+\.\d\d MiB/g)?.length).toBeGreaterThanOrEqual(2);
});

it('rejects a flag that is not a number', async () => {
  expect(await soak('--minutes', 'long')).toMatchObject({ code: 2, stderr: '--minutes takes a number above 0\n' });
});
