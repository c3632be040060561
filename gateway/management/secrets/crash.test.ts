import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { Secrets } from './secrets.ts';
import { absentKeyring } from './testdata/fakes.ts';

const WRITER = join(import.meta.dirname, 'testdata/create-secrets.ts');

/** Starts a writer, kills it after `count` acknowledged secrets, and returns the names of all acknowledged ones. */
async function acknowledgedBeforeKill(stateDir: string, prefix: string, count: number): Promise<string[]> {
  const child = spawn(process.execPath, [WRITER, stateDir, prefix], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const names: string[] = [];
  for await (const name of createInterface(child.stdout)) {
    names.push(name);
    if (names.length === count) child.kill('SIGKILL');
  }
  await exited;
  expect(child.signalCode).toBe('SIGKILL');
  return names;
}

it('keeps every acknowledged secret when the process is killed while it writes', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'vmcp-crash-'));
  const acknowledged: string[] = [];
  acknowledged.push(...(await acknowledgedBeforeKill(stateDir, 'first', 10)));
  acknowledged.push(...(await acknowledgedBeforeKill(stateDir, 'second', 20)));
  const secrets = new Secrets({
    stateDir,
    env: { VMCP_SECRETS_PASSWORD: 'of-the-test' },
    keyring: absentKeyring,
    connectOnePassword: async () => Promise.reject(new Error('not used')),
    log2Cost: 4,
  });
  await secrets.create('after', 'the crash');
  const present = new Set((await secrets.list()).map(({ key }) => key));
  expect(acknowledged.length).toBeGreaterThanOrEqual(30);
  expect(acknowledged.filter((name) => !present.has(name))).toEqual([]);
  expect(await secrets.get('second-0-1')).toBe('value of second-0-1');
});
