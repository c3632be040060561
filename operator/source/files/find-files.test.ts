import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findFiles, MAX_FILE_BYTES, readText } from './find-files.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmcp-files-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const write = async (name: string, text = 'a: 1\n') => {
  const path = join(dir, name);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, text);
  return path;
};
const found = async (...paths: string[]) => (await findFiles(paths)).files.map((file) => file.slice(dir.length + 1));
const reasons = async (...paths: string[]) => (await findFiles(paths)).problems.map(({ reason }) => reason);

describe('findFiles', () => {
  it('finds manifests in folders of any depth, sorted', async () => {
    for (const name of ['b.yml', 'a.yaml', 'deep/er/c.json', 'README.md', 'deep/notes.txt']) await write(name);
    expect(await found(dir)).toEqual(['a.yaml', 'b.yml', 'deep/er/c.json']);
  });

  it('does not enter hidden folders and node_modules', async () => {
    for (const name of ['.git/a.yaml', 'node_modules/b.json', 'c.yaml']) await write(name);
    expect(await found(dir)).toEqual(['c.yaml']);
  });

  it('accepts a file argument with any name', async () => {
    const file = await write('manifest.txt');
    expect(await found(file)).toEqual(['manifest.txt']);
  });

  it('returns a file once when two paths lead to it', async () => {
    const file = await write('a.yaml');
    await symlink(file, join(dir, 'z.yaml'));
    expect(await found(dir, file)).toHaveLength(1);
  });

  it('reports no problem for a folder whose files were all found before', async () => {
    const file = await write('a.yaml');
    expect(await reasons(file, dir)).toEqual([]);
  });

  it('follows links to folders and ends on loops', async () => {
    await write('real/a.yaml');
    await symlink(join(dir, 'real'), join(dir, 'link'));
    await symlink(dir, join(dir, 'real', 'loop'));
    expect(await found(dir)).toEqual(['link/a.yaml']);
  });

  it('accepts a pipe', async () => {
    const pipe = join(dir, 'pipe');
    execFileSync('/bin/sh', ['-c', 'mkfifo "$0"', pipe]);
    expect(await found(pipe)).toEqual(['pipe']);
    const [text] = await Promise.all([readText(pipe), writeFile(pipe, 'a: 1\n')]);
    expect(text).toEqual({ text: 'a: 1\n' });
  });

  it('reports missing paths, empty folders and broken links together', async () => {
    await mkdir(join(dir, 'empty'));
    await symlink(join(dir, 'gone'), join(dir, 'broken.yaml'));
    expect(await reasons(join(dir, 'nope.yaml'), join(dir, 'empty'), dir)).toEqual([
      'FileNotFound',
      'NoManifests',
      'BrokenLink',
    ]);
  });

  it('reports a path that leads through a file', async () => {
    const file = await write('a.yaml');
    expect(await reasons(join(file, 'b.yaml'))).toEqual(['FileNotReadable']);
  });
});

describe('readText', () => {
  it('rejects a file over the size limit and accepts one at the limit', async () => {
    const large = await write('large.yaml', 'x'.repeat(MAX_FILE_BYTES + 1));
    const full = await write('full.yaml', 'x'.repeat(MAX_FILE_BYTES));
    expect(await readText(large)).toMatchObject({ reason: 'FileTooLarge' });
    expect(await readText(full)).toHaveProperty('text');
  });

  it('stops reading an endless file at the limit', async () => {
    expect(await readText('/dev/zero')).toMatchObject({ reason: 'FileTooLarge' });
  });

  it('rejects bytes that are not UTF-8', async () => {
    const file = join(dir, 'latin1.yaml');
    await writeFile(file, Buffer.from([0x61, 0xe9, 0x62]));
    expect(await readText(file)).toMatchObject({ reason: 'InvalidEncoding' });
  });
});
