import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { identityOf } from '../../gateway/workloads/runner/process/process-lock.ts';
import { readRunning, removeRunning, writeRunning, type Running } from './running.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'vmcp-running-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const RUNNING: Running = {
  ...identityOf(process.pid),
  managementUrl: 'http://127.0.0.1:8080',
  servers: [
    { name: 'tools', namespace: 'default', mcpUrl: 'http://127.0.0.1:4483/mcp' },
    { name: 'team', namespace: 'default', mcpUrl: 'http://127.0.0.1:4484/mcp', issuer: 'http://127.0.0.1:4484' },
  ],
};

describe('the record of a running vmcp up', () => {
  it('is read as it was written, by its owner only', async () => {
    await writeRunning(dir, RUNNING);
    expect(readRunning(dir)).toEqual(RUNNING);
    expect(statSync(join(dir, 'running.json')).mode & 0o777).toBe(0o600);
  });

  it('is absent in an empty folder, and after it was removed', async () => {
    expect(readRunning(dir)).toBeUndefined();
    await writeRunning(dir, RUNNING);
    removeRunning(dir);
    removeRunning(dir);
    expect(readRunning(dir)).toBeUndefined();
  });

  it('counts as absent when its process is gone and another one has its id', async () => {
    await writeRunning(dir, { ...RUNNING, startTime: 'earlier' });
    expect(readRunning(dir)).toBeUndefined();
  });

  it.each(['', '{', 'null', '[]', JSON.stringify({ ...RUNNING, servers: [{}] })])(
    'is absent when the file is %j',
    (text) => {
      writeFileSync(join(dir, 'running.json'), text);
      expect(readRunning(dir)).toBeUndefined();
    },
  );
});
