import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { onEnd } from './testdata/servers.ts';
import { FileUnreadable, readSecretFile, WatchedFile } from './watched-file.ts';

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'vmcp-watched-'));
  onEnd(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function watch(path: string): { file: WatchedFile; pass: (ms: number) => void } {
  let now = 0;
  return { file: new WatchedFile(path, () => now), pass: (ms) => (now += ms) };
}

describe('WatchedFile', () => {
  it.each([
    ['secret', 'secret'],
    ['secret\n', 'secret'],
    ['secret\r\n', 'secret'],
    ['secret\n\n', 'secret\n'],
    [' secret ', ' secret '],
    ['a\nb\n', 'a\nb'],
    ['\n', ''],
    ['', ''],
    ['pässwörd\n', 'pässwörd'],
  ])('trims one trailing line break of %j', (content, text) => {
    const path = join(folder(), 'key');
    writeFileSync(path, content);
    expect(new WatchedFile(path).text()).toBe(text);
  });

  it('reads the file at most once a second and then detects a change', () => {
    const path = join(folder(), 'key');
    writeFileSync(path, 'old');
    const { file, pass } = watch(path);
    expect(file.text()).toBe('old');
    writeFileSync(path, 'new');
    pass(999);
    expect(file.text()).toBe('old');
    pass(1);
    expect(file.text()).toBe('new');
  });

  it('detects a change that keeps size and modification time', () => {
    const path = join(folder(), 'key');
    const { file, pass } = watch(path);
    for (const content of ['aaa', 'bbb']) {
      writeFileSync(path, content);
      utimesSync(path, 1_000, 1_000);
      expect(file.text()).toBe(content);
      pass(1_000);
    }
  });

  it('follows a mounted Secret when the kubelet swaps its symbolic link', () => {
    const dir = folder();
    const project = (version: string, content: string): void => {
      mkdirSync(join(dir, version));
      writeFileSync(join(dir, version, 'key'), content);
      symlinkSync(version, join(dir, '..data_tmp'));
      renameSync(join(dir, '..data_tmp'), join(dir, '..data'));
    };
    project('..2026_11_21', 'first\n');
    symlinkSync(join('..data', 'key'), join(dir, 'key'));
    const { file, pass } = watch(join(dir, 'key'));
    expect(file.text()).toBe('first');
    project('..2026_11_22', 'other\n');
    rmSync(join(dir, '..2026_11_21'), { recursive: true });
    pass(1_000);
    expect(file.text()).toBe('other');
  });

  it('throws an error with path and code while the file is missing, and reads the file once it exists', () => {
    const path = join(folder(), 'key');
    const { file, pass } = watch(path);
    const fault = expect.objectContaining({ code: 'ENOENT', message: `${path} cannot be read (ENOENT)` });
    expect(() => file.text()).toThrow(fault);
    expect(() => file.text()).toThrow(FileUnreadable);
    writeFileSync(path, 'there');
    expect(file.text()).toBe('there');
    rmSync(path);
    pass(1_000);
    expect(() => file.text()).toThrow(fault);
  });

  it('rejects a folder', () => {
    const dir = folder();
    expect(() => new WatchedFile(dir).text()).toThrow(`${dir} cannot be read (EISDIR)`);
  });
});

describe('readSecretFile', () => {
  it('reads each path at most once a second', () => {
    const [one, two] = [join(folder(), 'key'), join(folder(), 'key')];
    writeFileSync(one, 'one\n');
    writeFileSync(two, 'two\n');
    expect([readSecretFile(one), readSecretFile(two)]).toEqual(['one', 'two']);
    writeFileSync(one, 'changed');
    expect(readSecretFile(one)).toBe('one');
  });
});
