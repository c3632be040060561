import { describe, expect, it } from 'vitest';
import { paxRecord, tar, tarOf, type TarEntry } from '../testdata/tar.ts';
import { readTar, type ArchiveLimits } from './tar.ts';

const LIMITS: ArchiveLimits = { maxFiles: 3, maxFileBytes: 1_000, maxBytes: 20_000 };

async function* inChunks(bytes: Buffer, length: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function read(
  archive: Buffer,
  limits: Partial<ArchiveLimits> = {},
  chunk = 700,
): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for await (const { path, content } of readTar(inChunks(archive, chunk), { ...LIMITS, ...limits })) {
    files[path] = content.toString();
  }
  return files;
}

const readEntries = (...entries: TarEntry[]): Promise<Record<string, string>> => read(tar(entries));

describe('readTar', () => {
  it.each([1, 7, 512, 100_000])('returns the files, from chunks of %i bytes', async (chunk) => {
    const files = { 'SKILL.md': '# ü', 'a/b/empty': '', 'a/long': 'x'.repeat(512) };
    expect(await read(tarOf(files), {}, chunk)).toEqual(files);
  });

  it('skips folders and drops ./ in front', async () => {
    expect(await readEntries({ path: './', type: '5' }, { path: './a', content: '1' })).toEqual({ a: '1' });
  });

  it('reads long names and sizes from pax and GNU headers', async () => {
    const long = `${'d'.repeat(120)}/ü`;
    const entries = [
      { path: 'pax_global_header', type: 'g', content: paxRecord('comment', 'x') },
      { path: 'x', type: 'x', content: paxRecord('path', long) + paxRecord('size', '3') },
      { path: 'short', content: 'abc', size: 3 },
      { path: 'x', type: 'L', content: `${long}2\0` },
      { path: 'short', content: 'def' },
    ];
    expect(await readEntries(...entries)).toEqual({ [long]: 'abc', [`${long}2`]: 'def' });
  });

  it.each(['/etc/passwd', '../a', 'a/../../b', 'a//b', 'a\\..\\b', 'a\nb', '/'])(
    'rejects the path %j',
    async (path) => {
      await expect(readEntries({ path, content: 'x' })).rejects.toThrow('is not allowed');
      const pax = [{ path: 'x', type: 'x', content: paxRecord('path', path) }, { path: 'y' }];
      await expect(readEntries(...pax)).rejects.toThrow('is not allowed');
    },
  );

  it.each(['1', '2', '3', '4', '6', 'S'])('rejects an entry of type %s', async (type) => {
    await expect(readEntries({ path: 'a', type })).rejects.toThrow('"a" is a link or a device');
  });

  it.each(['.', './'])('rejects a file in the place of the top folder, %j', async (path) => {
    await expect(readEntries({ path, content: 'x' })).rejects.toThrow('is not allowed');
  });

  it.each(['n'.repeat(256), `${'ü'.repeat(128)}/a`, `${'folder/'.repeat(150)}a`, '. '.repeat(2000)])(
    'rejects a path that is too long',
    async (path) => {
      const pax = [{ path: 'x', type: 'x', content: paxRecord('path', path) }, { path: 'y' }];
      await expect(read(tar(pax), { maxFileBytes: 5000 })).rejects.toThrow('is too long');
    },
  );

  it.each([
    ['a', 'a/b'],
    ['a/b/c', 'a/b'],
  ])('rejects the files %j and %j, of which one must be a folder', async (...paths) => {
    await expect(readEntries(...paths.map((path) => ({ path })))).rejects.toThrow('is both a file and a folder');
  });

  it.each([
    ['a', 'A'],
    ['scripts/é', 'scripts/e\u0301'],
    ['Scripts/a', 'scripts/b'],
    ['x/A/b/c', 'x/a'],
    ['a/STRASSE', 'a/straße'],
  ])('row 105: rejects %j beside %j, which some file systems read as one', async (...paths) => {
    const twoFiles = readEntries(...paths.map((path) => ({ path })));
    await expect(twoFiles).rejects.toThrow(/is not allowed|is both a file and a folder/u);
  });

  it.each([
    [['HEAD', 'objects/x', 'refs/x']],
    [['a/b/Refs/x', 'a/b/OBJECTS/x', 'a/b/head']],
    [['a/commondir', 'a/HEAD']],
    [['a/HEAD/x', 'a/objects', 'a/refs']],
  ])('row 105: rejects a bare repository: %j', async (paths) => {
    await expect(read(tar(paths.map((path) => ({ path }))), { maxFiles: 9 })).rejects.toThrow('is a git repository');
    const folders = paths.map((path) => ({ path: `${path}/`, type: '5' }));
    await expect(read(tar(folders), { maxFiles: 99 })).rejects.toThrow('is a git repository');
  });

  it('row 105: rejects a name that is not UTF-8, and the name .git of an empty folder', async () => {
    const archive = tar([{ path: 'aXb' }]);
    archive[1] = 0xff;
    archive.write('      ', 148);
    const sum = archive.subarray(0, 512).reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0);
    archive.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    await expect(read(archive)).rejects.toThrow('must be UTF-8');
    await expect(readEntries({ path: 'a/.git/', type: '5' })).rejects.toThrow('git would obey');
  });

  it('reads what follows the end of the archive, so that its writer can end', async () => {
    const source = inChunks(Buffer.concat([tarOf({ a: '1' }), Buffer.alloc(5_000)]), 1_536);
    for await (const { path } of readTar(source, LIMITS)) expect(path).toBe('a');
    expect(await source.next()).toEqual({ done: true, value: undefined });
  });

  it('rejects a second file of the same path', async () => {
    await expect(readEntries({ path: 'a' }, { path: './a' })).rejects.toThrow('"a" occurs twice');
  });

  it('rejects what exceeds a limit', async () => {
    await expect(read(tarOf({ a: '', b: '', c: '', d: '' }))).rejects.toThrow('more than 3 files');
    await expect(read(tarOf({ 'a/b/c/d/e': '' }))).rejects.toThrow('more than 3 folders');
    const folders = ['a', 'b', 'c', 'd'].map((path) => ({ path, type: '5' }));
    await expect(readEntries(...folders)).rejects.toThrow('more than 3 folders');
    await expect(read(tarOf({ a: 'x'.repeat(1_001) }))).rejects.toThrow('"a" has more than 1000 bytes');
    await expect(read(tarOf({ a: '', b: '' }), { maxBytes: 1_500 })).rejects.toThrow('larger than 1500 bytes');
    const promised = tar([{ path: 'a', size: 900 }]).subarray(0, 512);
    await expect(read(promised)).rejects.toThrow('ends too early');
  });

  it('rejects damaged archives', async () => {
    const archive = tarOf({ a: 'x' });
    await expect(read(archive.subarray(0, 600))).rejects.toThrow('ends too early');
    await expect(read(Buffer.alloc(0))).rejects.toThrow('ends too early');
    archive[0] = 0x62;
    await expect(read(archive)).rejects.toThrow('wrong checksum');
    await expect(readEntries({ path: 'x', type: 'x', content: 'nonsense' }, { path: 'a' })).rejects.toThrow('damaged');
    await expect(readEntries({ path: 'x', type: 'x', content: '99 path=a\n' }, { path: 'a' })).rejects.toThrow(
      'damaged',
    );
  });
});
