import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { testScope } from '../harness/scope.ts';
import { root, temporaryFolder, vmcpResult, writeFiles } from '../harness/vmcp.ts';

const BUILT = join(root, 'dist', '.built');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

/** Runs make in this checkout. Never builds: other tests use dist/. */
const make = (...args: string[]) =>
  promisify(execFile)('make', ['--silent', '-o', 'dist/.built', ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent' },
  });

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
    expect(files.filter((file) => /\.map$|(?<!\.d)\.ts$|\.built$|older/u.test(file))).toEqual([]);

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
