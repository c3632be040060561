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

  it.each(['n'.repeat(256), `${'ü'.repeat(128)}/a`, `${'folder/'.repeat(150)}a`])(
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
