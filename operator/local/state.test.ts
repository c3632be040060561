import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  defaultStateDir,
  openState,
  StateInUse,
  readRunning,
  removeRunning,
  writeRunning,
  type Running,
} from './state.ts';
import { identityOf } from '../../gateway/workloads/runner/process/process-lock.ts';

describe('state', () => {
  let root: string;
  let dir: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'vmcp-state-'));
    dir = join(root, 'deep', 'vmcp');
  });
  afterEach(() => {
    rmSync(root, { recursive: true, force: true });
  });

  /** Starts a process that locks the state until it is killed, and exits with 2 when the state is in use. */
  const HOLDER = `
  import { openState } from ${JSON.stringify(join(import.meta.dirname, 'state.ts'))};
  try { openState(process.argv[1]); } catch (error) { console.log(error.message); process.exit(2); }
  console.log('open');
  setTimeout(() => {}, 30_000);
`;
  const holderArgs = () => ['--input-type=module', '-e', HOLDER, dir];
  const mode = (path: string) => statSync(path).mode & 0o777;

  describe('openState', () => {
    it('creates the folder for its owner only', () => {
      const state = openState(dir);
      expect(mode(dir)).toBe(0o700);
      expect(state).toMatchObject({ dir, portsFile: join(dir, 'ports.json') });
      state.close();
    });

    it('restricts a folder that others could read', () => {
      mkdirSync(dir, { recursive: true });
      chmodSync(dir, 0o755);
      openState(dir).close();
      expect(mode(dir)).toBe(0o700);
    });

    it('rejects a second process, and names the first one and what to do', () => {
      const state = openState(dir);
      const { status, stdout } = spawnSync(process.execPath, holderArgs(), { encoding: 'utf8' });
      expect(status).toBe(2);
      expect(stdout).toContain(`process ${process.pid}`);
      expect(stdout).toContain('--state');
      state.close();
      openState(dir).close();
    });

    it('fails while another process runs and takes over from a killed one', async () => {
      const holder = spawn(process.execPath, holderArgs(), { stdio: ['ignore', 'pipe', 'inherit'] });
      await new Promise((resolve) => holder.stdout.once('data', resolve));
      expect(() => openState(dir)).toThrow(StateInUse);
      expect(() => openState(dir)).toThrow(expect.objectContaining({ reason: 'StateInUse', pid: holder.pid }));
      holder.kill('SIGKILL');
      await new Promise((resolve) => holder.once('exit', resolve));
      openState(dir).close();
    });

    it('reports the error of the file system when the folder cannot be created', () => {
      const file = join(root, 'file');
      writeFileSync(file, '');
      expect(() => openState(join(file, 'vmcp'))).toThrow('ENOTDIR');
    });
  });

  describe('defaultStateDir', () => {
    it.each([
      [{ XDG_STATE_HOME: '/x/state', HOME: '/h' }, '/x/state/vmcp'],
      [{ XDG_STATE_HOME: 'relative', HOME: '/h' }, '/h/.local/state/vmcp'],
      [{ HOME: '/h' }, '/h/.local/state/vmcp'],
    ])('of %j is %s', (env, expected) => {
      expect(defaultStateDir(env)).toBe(expected);
    });
  });
});

describe('running', () => {
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
});
