import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { root, temporaryFolder, vmcpResult, writeFiles } from '../harness/vmcp.ts';

const BUILT = join(root, 'dist', '.built');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

const execute = promisify(execFile);

/** Runs make in this checkout. Never builds: other tests use dist/. */
const make = (...args: string[]) =>
  execute('make', ['--silent', '-o', 'dist/.built', ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent' },
  });

/** Returns a folder with this Makefile, an old lock file and fake programs, and the environment that finds these first. */
async function fakeCheckout(programs: Readonly<Record<string, string>>, files: Readonly<Record<string, string>> = {}) {
  const folder = await temporaryFolder(testScope());
  const bin = join(folder, 'bin');
  copyFileSync(join(root, 'Makefile'), join(folder, 'Makefile'));
  await writeFiles(folder, { 'package-lock.json': '{}', ...files });
  utimesSync(join(folder, 'package-lock.json'), 1_000_000_000, 1_000_000_000);
  for (const [name, script] of Object.entries(programs)) {
    await writeFiles(bin, { [name]: `#!/bin/sh\n${script}` });
    chmodSync(join(bin, name), 0o755);
  }
  return { folder, env: { PATH: `${bin}:${process.env['PATH'] ?? ''}`, HOME: folder } };
}

describe.runIf(existsSync(BUILT))('make install', () => {
  it('installs a vmcp that needs nothing of the checkout, and removes it', async () => {
    const stage = await temporaryFolder(testScope());
    const folder = join(stage, 'opt', 'tools');
    await writeFiles(folder, { 'bin/other': '', 'lib/vmcp/dist/of-an-older-version.js': '' });
    const { stdout } = await make('install', `DESTDIR=${stage}`, 'PREFIX=/opt/tools');
    const program = join(folder, 'bin', 'vmcp');
    expect(stdout).toBe(`installed ${program}\nAdd it to your PATH:  export PATH="/opt/tools/bin:$PATH"\n`);
    const { code, stdout: printed } = await vmcpResult(testScope(), ['version'], {
      program,
      env: { PATH: '/usr/bin:/bin' },
    });
    expect(code).toBe(0);
    expect(printed).toContain(`vmcp ${version} (Node.js ${process.versions.node}, `);
    const files = readdirSync(join(folder, 'lib', 'vmcp'), { recursive: true, encoding: 'utf8' });
    expect(files.filter((file) => /\.map$|(?<!\.d)\.ts$|\.built$|of-an-older/u.test(file))).toEqual([]);

    await make('uninstall', `DESTDIR=${stage}`, 'PREFIX=/opt/tools');
    expect(readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()).toEqual(['bin', 'bin/other', 'lib']);
  });

  it('explains that the folder cannot be written', async () => {
    await expect(make('install', 'PREFIX=/proc/vmcp')).rejects.toMatchObject({
      stderr: expect.stringContaining(
        'you cannot write to /proc/vmcp: choose another folder (make install PREFIX=$HOME/.local), or run make build and then sudo make install\n',
      ),
    });
  });
});

it('Ctrl-C ends the installation of the packages at once', async () => {
  // Like npm, which obeys only after it has installed everything.
  const { folder, env } = await fakeCheckout({ npm: "trap '' INT\ntouch started\nexec sleep 30\n" });
  const running = spawn('make', ['deps'], { cwd: folder, env, detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  running.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const closed = once(running, 'close');
  await eventually('npm runs', () => existsSync(join(folder, 'started')));
  const startedAt = Date.now();
  process.kill(-(running.pid ?? 0), 'SIGINT'); // like a terminal, to all processes in the foreground
  await closed;
  expect(Date.now() - startedAt).toBeLessThan(10_000);
  expect(stderr).toContain('stopped: the next make installs again\n');
  expect(existsSync(join(folder, 'node_modules', '.installed'))).toBe(false);
});

it('make check prints one line when everything passes, and the output of what fails', async () => {
  const tests =
    "[ ! -f broken ] || { echo 'one test fails'; exit 1; }\necho ' Test Files  2 passed (2)\n      Tests  12 passed (12)'\n";
  const programs = { npm: 'echo noise\n', npx: tests };
  const { folder, env } = await fakeCheckout(programs, { 'node_modules/.installed': '' });
  await execute('git', ['init', '--quiet', folder], { env });
  const { stdout } = await execute('make', ['check'], { cwd: folder, env });
  expect(stdout).toBe('noise\nchecked: 12 tests passed, lint and generated files are clean\n'); // of the fake generator
  await writeFiles(folder, { broken: '' });
  await expect(execute('make', ['check'], { cwd: folder, env })).rejects.toMatchObject({
    stderr: expect.stringContaining('one test fails') as unknown,
  });
});

/** Runs make with an npm that only records its arguments. Returns its installations. */
async function npmCallsOf(target: string, files: Readonly<Record<string, string>>): Promise<string[]> {
  const sources = { 'build.ts': '', 'tsconfig.json': '', 'dist/keep': '', 'node_modules/keep': '' };
  const { folder, env } = await fakeCheckout({ npm: 'echo "$*" >>calls\n' }, { ...sources, ...files });
  await execute('make', [target], { cwd: folder, env });
  const calls = existsSync(join(folder, 'calls')) ? readFileSync(join(folder, 'calls'), 'utf8') : '';
  return calls.split('\n').filter((line) => line.startsWith('ci'));
}

describe('packages that npm ci has installed', () => {
  const installed = { 'node_modules/.package-lock.json': '{}', 'node_modules/esbuild/package.json': '{}' };
  const all = { ...installed, 'node_modules/vitest/package.json': '{}' };

  it('are kept by make build and make deps', async () => {
    expect(await npmCallsOf('build', all)).toEqual([]);
    expect(await npmCallsOf('deps', all)).toEqual([]);
  });

  it('are installed where some are missing', async () => {
    expect(await npmCallsOf('deps', installed)).toEqual([expect.stringContaining('--include=dev')]);
    expect(await npmCallsOf('build', {})).toEqual([expect.stringContaining('--omit=dev')]);
  });
});

it('bin/vmcp says to install the packages of a checkout where the Node.js of the machine is too old', async () => {
  const folder = await temporaryFolder(testScope());
  const node = '#!/bin/sh\nexit 1\n';
  const files = { 'package-lock.json': '{}', 'dist/operator/cli/main.js': '', 'path/node': node, 'bin/vmcp': '' };
  await writeFiles(folder, files);
  copyFileSync(join(root, 'bin', 'vmcp'), join(folder, 'bin', 'vmcp'));
  for (const file of ['path/node', 'bin/vmcp']) chmodSync(join(folder, file), 0o755);
  const env = { PATH: `${join(folder, 'path')}:/usr/bin:/bin` };
  await expect(execute(join(folder, 'bin', 'vmcp'), ['version'], { env })).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`run 'make deps' in ${folder}`) as unknown,
  });
});
