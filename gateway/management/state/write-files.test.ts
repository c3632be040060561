import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, lstat, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { eventually } from '../../../e2e/harness/poll.ts';
import { testScope } from '../../../e2e/harness/scope.ts';
import { changeFiles, translated, UserFileError } from './write-files.ts';

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'vmcp-write-'));
  testScope().defer(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

it('creates files with their mode, and folders', async () => {
  const dir = await folder();
  const [open, secret] = [join(dir, 'new', 'a.yaml'), join(dir, 'new', 'secret.yaml')];
  changeFiles([
    { path: open, text: 'a' },
    { path: secret, text: 'b', mode: 0o600 },
  ]);
  expect(await readFile(open, 'utf8')).toBe('a');
  expect(await modeOf(secret)).toBe(0o600);
  expect(await readdir(join(dir, 'new'))).toEqual(['a.yaml', 'secret.yaml']);
});

it('keeps the mode of a file', async () => {
  const path = join(await folder(), 'a.yaml');
  await writeFile(path, 'old');
  await chmod(path, 0o640);
  changeFiles([{ path, text: 'new', mode: 0o600 }]);
  expect(await readFile(path, 'utf8')).toBe('new');
  expect(await modeOf(path)).toBe(0o640);
});

it('changes the target of a symbolic link', async () => {
  const dir = await folder();
  await writeFile(join(dir, 'target.yaml'), 'old');
  await symlink('target.yaml', join(dir, 'link.yaml'));
  changeFiles([{ path: join(dir, 'link.yaml'), text: 'new' }]);
  expect((await lstat(join(dir, 'link.yaml'))).isSymbolicLink()).toBe(true);
  expect(await readlink(join(dir, 'link.yaml'))).toBe('target.yaml');
  expect(await readFile(join(dir, 'target.yaml'), 'utf8')).toBe('new');
});

it('deletes a file', async () => {
  const dir = await folder();
  await writeFile(join(dir, 'a.yaml'), 'old');
  changeFiles([{ path: join(dir, 'a.yaml'), text: undefined }]);
  expect(await readdir(dir)).toEqual([]);
});

it('changes nothing when one of the files cannot be written', async () => {
  const dir = await folder();
  await writeFile(join(dir, 'a.yaml'), 'old');
  const below = join(dir, 'a.yaml', 'b.yaml');
  const changing = () => {
    changeFiles([
      { path: join(dir, 'a.yaml'), text: 'new' },
      { path: below, text: 'b' },
    ]);
  };
  expect(changing).toThrow(UserFileError);
  expect(changing).toThrow(`${below} cannot be written (E`);
  expect(await readdir(dir)).toEqual(['a.yaml']);
  expect(await readFile(join(dir, 'a.yaml'), 'utf8')).toBe('old');
});

it('restores the files that it has changed when a later one cannot be changed', async () => {
  const dir = await folder();
  await writeFile(join(dir, 'a.yaml'), 'old', { mode: 0o640 });
  const absent = join(dir, 'absent.yaml');
  expect(() => {
    changeFiles([
      { path: join(dir, 'a.yaml'), text: 'new' },
      { path: join(dir, 'b.yaml'), text: 'new' },
      { path: absent, text: undefined },
    ]);
  }).toThrow(`${absent} cannot be written (ENOENT)`);
  expect(await readdir(dir)).toEqual(['a.yaml']);
  expect(await readFile(join(dir, 'a.yaml'), 'utf8')).toBe('old');
  expect(await modeOf(join(dir, 'a.yaml'))).toBe(0o640);
});

it('creates the target of a symbolic link that leads nowhere yet', async () => {
  const dir = await folder();
  await symlink('target.yaml', join(dir, 'link.yaml'));
  changeFiles([{ path: join(dir, 'link.yaml'), text: 'new' }]);
  expect((await lstat(join(dir, 'link.yaml'))).isSymbolicLink()).toBe(true);
  expect(await readFile(join(dir, 'target.yaml'), 'utf8')).toBe('new');
});

it.each(['new', undefined])('refuses to change a read-only file to %s', async (text) => {
  const path = join(await folder(), 'a.yaml');
  await writeFile(path, 'old', { mode: 0o444 });
  expect(() => {
    changeFiles([{ path, text }]);
  }).toThrow(`${path} is read-only: allow writing (chmod u+w), then try again`);
  expect(await readFile(path, 'utf8')).toBe('old');
});

it('leaves the old or the new content when the process is killed', async () => {
  const path = join(await folder(), 'a.yaml');
  const size = 2_000_000;
  const script = `
    import { changeFiles } from ${JSON.stringify(join(import.meta.dirname, 'write-files.ts'))};
    for (let round = 0; ; round += 1) {
      changeFiles([{ path: ${JSON.stringify(path)}, text: (round % 2 ? 'a' : 'b').repeat(${String(size)}) }]);
    }`;
  for (let round = 0; round < 3; round += 1) {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: 'ignore' });
    const before = await stat(path).catch(() => undefined);
    await eventually('the file is replaced', async () => (await stat(path)).ino !== before?.ino);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await readFile(path, 'utf8')).toMatch(new RegExp(`^(?:a{${String(size)}}|b{${String(size)}})$`, 'u'));
  }
});

it.each([
  ['ENOSPC', 'free some space on its disk'],
  ['EDQUOT', 'free some space on its disk'],
  ['EROFS', 'make it and its folder writable'],
])('says what to do about %s', (code, advice) => {
  const fail = () => {
    throw Object.assign(new Error('failed'), { code });
  };
  expect(() => translated('/a/mcp.json', 'written', fail)).toThrow(
    `/a/mcp.json cannot be written (${code}): ${advice}, then try again`,
  );
});
