import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { STDIN, STDIN_FILE } from './find-files.ts';
import { findHostVariables } from './host-variables.ts';
import { loadManifests } from './load.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmcp-host-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function write(name: string, text: string | Uint8Array, mode = 0o600): Promise<string> {
  const path = join(dir, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  await chmod(path, mode);
  return path;
}
const server = (name: string, variable: string) => `apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata: {name: ${name}}
spec: {image: "npx://a", env: [{name: TOKEN, fromEnv: ${variable}}]}
`;

/** Loads files and returns the values of a variable that each of these servers gets. */
async function valuesOf(names: readonly string[], paths: readonly string[], hostEnv: Record<string, string> = {}) {
  const { secretValues, problems } = await loadManifests(paths, { hostEnv });
  expect(problems).toEqual([]);
  return Promise.all(
    names.map(async (name) => {
      const bytes = await secretValues.read({ kind: 'HostVariable', namespace: 'default', name, key: 'A' });
      return bytes && Buffer.from(bytes).toString('utf8');
    }),
  );
}
const problemsOf = async (paths: readonly string[]) =>
  (await loadManifests(paths)).problems.map(
    ({ file, line, reason }) => `${file.replace(`${dir}/`, '')}:${String(line)} ${reason}`,
  );

describe('host variables', () => {
  it('come from the shell, then from the .env beside the resource, then from that of the given folder', async () => {
    const top = await write('top.yaml', server('top', 'A'));
    await write('inner/below.yaml', server('below', 'A'));
    expect(await valuesOf(['top', 'below'], [dir])).toEqual([undefined, undefined]);
    await write('.env', 'A=given\n');
    expect(await valuesOf(['top', 'below'], [dir])).toEqual(['given', 'given']);
    await write('inner/.env', 'A=beside\n');
    expect(await valuesOf(['top', 'below'], [dir])).toEqual(['given', 'beside']);
    expect(await valuesOf(['top', 'below'], [top, join(dir, 'inner')])).toEqual(['given', 'beside']);
    expect(await valuesOf(['top', 'below'], [dir], { A: '' })).toEqual(['', '']);
  });

  it('do not come from another folder', async () => {
    await write('a/a.yaml', server('a', 'A'));
    await write('b/b.yaml', server('b', 'A'));
    await write('b/.env', 'A=of b\n');
    expect(await valuesOf(['a', 'b'], [join(dir, 'a'), join(dir, 'b')])).toEqual([undefined, 'of b']);
  });

  it('come from the working folder for resources of standard input', async () => {
    const readers = [{ namespace: 'default', server: 'a', file: STDIN_FILE, variables: ['A'] }];
    expect(await findHostVariables(readers, [STDIN], {})).toMatchObject({ servers: [{ names: [], envFile: '.env' }] });
  });

  it('are not members that every object has', async () => {
    const file = await write('a.yaml', server('a', 'constructor'));
    const { snapshots } = await loadManifests([file], { hostEnv: {} });
    expect(snapshots.get('default')?.hostVariables.get('a')?.names).toEqual([]);
  });

  it('are known to the snapshot by name only', async () => {
    await write('a.yaml', server('a', 'A'));
    await write('.env', 'A=canary\nB=canary\n');
    const manifests = await loadManifests([dir]);
    expect(manifests.snapshots.get('default')?.hostVariables.get('a')).toEqual({
      server: 'a',
      names: ['A'],
      envFile: join(dir, '.env'),
    });
    expect(inspect(manifests, { depth: null })).not.toContain('canary');
  });
});

describe('a .env file', () => {
  it('can have Windows line ends, a byte order mark and a link to it', async () => {
    await write('a.yaml', server('a', 'A'));
    const target = await write('elsewhere/keys', '\u{FEFF}A="one two"\r\nB=2\r\n');
    await symlink(target, join(dir, '.env'));
    expect(await valuesOf(['a'], [dir])).toEqual(['one two']);
  });

  it('is a problem when it is a folder', async () => {
    await write('a.yaml', server('a', 'A'));
    await mkdir(join(dir, '.env'));
    expect(await problemsOf([dir])).toEqual(['.env:1 FileNotReadable']);
  });

  it('is a problem when it is not UTF-8', async () => {
    await write('a.yaml', server('a', 'A'));
    await write('.env', Buffer.from([0x41, 0x3d, 0xe9, 0x0a]));
    expect(await problemsOf([dir])).toEqual(['.env:1 InvalidEncoding']);
  });

  it('is a problem at the line that is broken, once for all servers, and no value is printed', async () => {
    await write('a.yaml', `${server('a', 'A')}---\n${server('b', 'A')}`);
    await write('.env', 'A=1\ncanary\n');
    expect(await problemsOf([dir])).toEqual(['.env:2 InvalidEnvFile']);
    expect(JSON.stringify((await loadManifests([dir])).problems)).not.toContain('canary');
  });

  it('is not read when no server needs it', async () => {
    await write('a.yaml', server('a', 'A').replace('fromEnv: A', 'value: A'));
    await write('.env', 'broken\n');
    expect(await problemsOf([dir])).toEqual([]);
  });

  it.each<[string, number, string[]]>([
    ['everybody can read', 0o644, ['EnvFileExposed']],
    ['the group can read', 0o640, ['EnvFileExposed']],
    ['only the user can read', 0o600, []],
  ])('that %s has these warnings', async (_, mode, reasons) => {
    await write('a.yaml', server('a', 'A'));
    await write('.env', 'A=canary\n', mode);
    const { warnings } = await loadManifests([dir]);
    expect(warnings.map(({ reason }) => reason)).toEqual(reasons);
    for (const { message } of warnings) expect(message).toContain(`chmod 600 ${join(dir, '.env')}`);
  });

  it('is never read as a manifest', async () => {
    await write('a.yaml', server('a', 'A'));
    const file = await write('.env', 'A=1\n');
    expect((await loadManifests([dir])).files).toEqual([join(dir, 'a.yaml')]);
    expect(await problemsOf([dir, file])).toEqual(['.env:1 NoManifests']);
  });
});
