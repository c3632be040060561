import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Child } from '../runner.ts';
import { isRunning, openFixture, script, until, type Fixture } from '../testdata/fixture.ts';

const SECRET = 'canary-5d1f';
const FOREVER = `setInterval(() => {}, 1000);`;

let fixture: Fixture;
beforeEach(() => {
  fixture = openFixture();
});
afterEach(() => fixture.close());

const spawn = (code: string, more = {}): Child =>
  fixture.launcher.spawn(script(code, more), { name: 'demo', stdin: true });

/** Waits until the child has written its first line. */
async function firstLine(child: Child): Promise<string> {
  return new Promise((resolve) => child.stdout.once('data', (data: Buffer) => resolve(data.toString().trim())));
}

describe('environment of a child', () => {
  it('contains only the inherited and the declared variables', async () => {
    const project = join(fixture.stateDir, 'project');
    makePackage(join(project, 'node_modules', 'tool'), `process.stdout.write(JSON.stringify(process.env))`);
    const secretFile = join(fixture.stateDir, 'token');
    writeFileSync(secretFile, `${SECRET}\n`);
    const hostEnv = { ...process.env, VMCP_CANARY: SECRET, LANG: 'C', https_proxy: 'http://127.0.0.1:9' };
    const { launcher, close } = openFixture({ hostEnv, projectRoot: project });

    const spec = { image: 'npx://tool', env_vars: { MODE: 'test' }, env_var_files: { TOKEN: secretFile } };
    const command = await launcher.prepare(spec, 'demo');
    const child = launcher.spawn(command, { name: 'demo', stdin: false });
    const seen = JSON.parse(await text(child.stdout)) as Record<string, string>;
    await close();

    const allowed = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'MODE', 'TOKEN', 'MCP_TRANSPORT'];
    const others = Object.keys(seen).filter((name) => !allowed.includes(name) && !/proxy$/i.test(name));
    expect(others).toEqual([]);
    expect(seen).toMatchObject({ MODE: 'test', TOKEN: SECRET, LANG: 'C', https_proxy: 'http://127.0.0.1:9' });
    expect(JSON.stringify(command)).not.toContain(SECRET);
  });

  it('reads variable files at each spawn and names a missing one', async () => {
    const file = join(fixture.stateDir, 'value');
    const show = { envFiles: { VALUE: file } };
    for (const value of ['first', 'second']) {
      writeFileSync(file, value);
      expect(await text(spawn(`process.stdout.write(process.env.VALUE)`, show).stdout)).toBe(value);
    }
    writeFileSync(file, Buffer.from('\u00FC', 'latin1')); // row 109
    expect(() => spawn('', show)).toThrow('is UTF-8');
    expect(() => spawn('', { envFiles: { VALUE: `${file}-gone` } })).toThrow(
      expect.objectContaining({
        reason: 'EnvironmentFileUnreadable',
        message: expect.stringContaining('VALUE') as unknown,
      }),
    );
  });
});

describe('a child', () => {
  it('communicates over stdin and stdout, and reports its exit code and last stderr line', async () => {
    const child = spawn(`process.stdin.on('data', (d) => process.stdout.write(d)).on('end', () => {
      console.error('one\\nbad key'); process.exitCode = 3; });`);
    child.stdin?.end('ping');
    expect(await text(child.stdout)).toBe('ping');
    expect(await child.exited).toEqual({ code: 3, signal: null });
    expect(child.lastStderr()).toBe('bad key');
    const lines = fixture.logged.filter(({ message }) => message === 'workload output').map(({ fields }) => fields);
    expect(lines).toEqual([
      { workload: 'demo', line: 'one' },
      { workload: 'demo', line: 'bad key' },
    ]);
  });

  it('that cannot be executed exits with code -1 and does not throw', async () => {
    const child = spawn('', { file: '/nonexistent/server' });
    expect(await child.exited).toEqual({ code: -1, signal: null });
    expect(child.lastStderr()).toContain('ENOENT');
    await child.stop();
  });

  it('survives a write after its end', async () => {
    const child = spawn('');
    await child.exited;
    child.stdin?.write('late');
    await child.stop();
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });

  it('is recorded while it runs and not afterwards', async () => {
    const child = spawn(`console.log('up'); ${FOREVER}`);
    await firstLine(child);
    const records = () => readdirSync(join(fixture.stateDir, 'processes'));
    expect(records()).toEqual([`${child.pid}.json`]);
    await child.stop();
    expect(records()).toEqual([]);
  });
});

describe('stop', () => {
  it('lets a server end by itself when its stdin ends', async () => {
    const child =
      spawn(`process.stdin.on('end', () => setTimeout(() => { console.error('saved'); process.exit(0); }, 100));
      process.stdin.resume(); console.log('up');`);
    await firstLine(child);
    await child.stop();
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.lastStderr()).toBe('saved');
  });

  it('ends a server that handles SIGTERM with its own code', async () => {
    const child = spawn(`process.on('SIGTERM', () => process.exit(7)); console.log('up'); ${FOREVER}`);
    await firstLine(child);
    await Promise.all([child.stop(), child.stop()]);
    expect(await child.exited).toEqual({ code: 7, signal: null });
  });

  it('kills the whole group of a server that ignores SIGTERM after the grace period', async () => {
    const child = spawn(`const { spawn } = require('node:child_process');
      const stubborn = "process.on('SIGTERM', () => {}); ${FOREVER}";
      eval(stubborn); console.log(spawn(process.execPath, ['-e', stubborn], { stdio: 'inherit' }).pid);`);
    const grandchild = Number(await firstLine(child));
    const before = performance.now();
    await child.stop(300);
    expect(performance.now() - before).toBeGreaterThan(290);
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await until(() => !isRunning(grandchild));
  });

  it('leaves no grandchild behind when the server ends by itself', async () => {
    const child = spawn(`const { spawn } = require('node:child_process');
      const kid = spawn(process.execPath, ['-e', "${FOREVER}"], { stdio: 'inherit' });
      console.log(kid.pid); setTimeout(() => process.exit(0), 50);`);
    const grandchild = Number(await firstLine(child));
    await child.exited;
    await until(() => !isRunning(grandchild));
  });
});

describe('close', () => {
  it('stops every child and rejects new ones', async () => {
    const children = [1, 2, 3].map(() => spawn(FOREVER));
    await fixture.launcher.close(500);
    expect(children.filter(({ pid }) => isRunning(pid))).toEqual([]);
    expect(() => spawn(FOREVER)).toThrow(expect.objectContaining({ reason: 'LauncherClosed' }));
  });
});

function makePackage(dir: string, code: string): void {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ name: 'tool', version: '1.0.0', bin: 'tool.cjs' }));
  writeFileSync(join(dir, 'tool.cjs'), code);
}
