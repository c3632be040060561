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

/** Another process that opens the state and holds it until it is killed; exits with 2 when it is refused. */
const HOLDER = `
  import { openState } from ${JSON.stringify(join(import.meta.dirname, 'state.ts'))};
  try { openState(process.argv[1]); } catch (error) { console.log(error.message); process.exit(2); }
  console.log('open');
  setTimeout(() => {}, 30_000);
`;
const holderArgs = () => ['--input-type=module', '-e', HOLDER, dir];
const mode = (path: string) => statSync(path).mode & 0o777;

describe('openState', () => {
  it('makes the folder for its owner only', () => {
    const state = openState(dir);
    expect(mode(dir)).toBe(0o700);
    expect(state).toMatchObject({ dir, portsFile: join(dir, 'ports.json') });
    state.close();
  });

  it('closes a folder that others could read', () => {
    mkdirSync(dir, { recursive: true });
    chmodSync(dir, 0o755);
    openState(dir).close();
    expect(mode(dir)).toBe(0o700);
  });

  it('refuses a second process and names the first and the way out', () => {
    const state = openState(dir);
    const { status, stdout } = spawnSync(process.execPath, holderArgs(), { encoding: 'utf8' });
    expect(status).toBe(2);
    expect(stdout).toContain(`process ${process.pid}`);
    expect(stdout).toContain('--state');
    state.close();
    openState(dir).close();
  });

  it('is refused by a process that runs and takes over from one that was killed', async () => {
    const holder = spawn(process.execPath, holderArgs(), { stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise((resolve) => holder.stdout.once('data', resolve));
    expect(() => openState(dir)).toThrow(StateInUse);
    expect(() => openState(dir)).toThrow(expect.objectContaining({ reason: 'StateInUse', pid: holder.pid }));
    holder.kill('SIGKILL');
    await new Promise((resolve) => holder.once('exit', resolve));
    openState(dir).close();
  });

  it('tells the file system’s error when the folder cannot be made', () => {
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
