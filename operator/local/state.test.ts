import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defaultStateDir, openState, StateInUse } from './state.ts';

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
