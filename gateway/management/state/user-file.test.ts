import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'; // oxfmt-ignore
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readUserFile, writeUserFile } from './user-file.ts';

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'vmcp-user-file-'));
  file = join(dir, 'mcp.json');
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const NOW = Date.now();
const write = (path: string, text: string) => {
  writeUserFile(readUserFile(path), text, NOW);
};
const modeOf = (path: string) => statSync(path).mode & 0o777;

describe('writeUserFile', () => {
  it('keeps the mode and leaves nothing else in the folder', () => {
    writeFileSync(file, 'old');
    chmodSync(file, 0o664);
    write(file, 'new');
    expect(readFileSync(file, 'utf8')).toBe('new');
    expect(modeOf(file)).toBe(0o664);
    expect(readdirSync(dir)).toEqual(['mcp.json']);
  });

  it('creates a file and its folders for their owner only', () => {
    const deep = join(dir, 'a', 'b', 'mcp.json');
    write(deep, 'new');
    expect([modeOf(deep), modeOf(join(dir, 'a'))]).toEqual([0o600, 0o700]);
  });

  it('removes the file for an empty text', () => {
    writeFileSync(file, 'old');
    write(file, '');
    expect(existsSync(file)).toBe(false);
  });

  it.each([true, false])('writes the target of symbolic links, which exists: %s', (exists) => {
    const target = join(dir, 'dotfiles.json');
    if (exists) writeFileSync(target, 'old');
    symlinkSync('dotfiles.json', join(dir, 'second'));
    symlinkSync('second', file);
    write(file, 'new');
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(readFileSync(target, 'utf8')).toBe('new');
  });

  it('refuses a read-only file', () => {
    writeFileSync(file, 'old', { mode: 0o444 });
    expect(() => {
      write(file, 'new');
    }).toThrow(`${file} is read-only: allow writing (chmod u+w), then try again`);
    expect(readFileSync(file, 'utf8')).toBe('old');
  });

  it('refuses a file that another program has locked, and takes over an old lock', () => {
    writeFileSync(file, 'old');
    mkdirSync(`${file}.lock`);
    utimesSync(`${file}.lock`, NOW / 1_000, NOW / 1_000);
    expect(() => {
      write(file, 'new');
    }).toThrow(`${file} is locked by another program`);
    expect(existsSync(`${file}.lock`)).toBe(true);
    utimesSync(`${file}.lock`, NOW / 1_000 - 60, NOW / 1_000 - 60);
    write(file, 'new');
    expect(readdirSync(dir)).toEqual(['mcp.json']);
  });

  it('refuses a file that changed since it was read', () => {
    const before = readUserFile(file);
    writeFileSync(file, 'of the client');
    expect(() => {
      writeUserFile(before, 'new', NOW);
    }).toThrow(`${file} has just changed: try again`);
    expect(readFileSync(file, 'utf8')).toBe('of the client');
  });
});

describe('readUserFile', () => {
  it('keeps a byte order mark and refuses other encodings', () => {
    writeFileSync(file, '\uFEFF{}');
    expect(readUserFile(file).text).toBe('\uFEFF{}');
    writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d]));
    expect(() => readUserFile(file)).toThrow(`${file} is not UTF-8 text`);
  });

  it('names the file and the reason when it cannot be read', () => {
    symlinkSync('mcp.json', file);
    expect(() => readUserFile(file)).toThrow(`${file} cannot be read (ELOOP)`);
    expect(() => readUserFile(dir)).toThrow(`${dir} is no regular file`);
  });
});
