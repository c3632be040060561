import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testScope } from '../../../../e2e/harness/scope.ts';
import { placeFolder, removeFolder } from './change-folder.ts';
import { checkProjectRoot } from '../place.ts';
import { contentDigest, listFolder } from './read-folder.ts';

function temporaryFolder(files: Readonly<Record<string, string>> = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'vmcp-files-')));
  testScope().defer(() => rmSync(folder, { recursive: true, force: true }));
  write(folder, files);
  return folder;
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

const tree = (folder: string): string[] => readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted();
const SOURCE = { 'SKILL.md': 'new', 'a/b': '1' };

describe('placeFolder', () => {
  it('creates the folder, and undo removes it with its empty parents', async () => {
    const [root, source] = [temporaryFolder({ keep: '' }), temporaryFolder(SOURCE)];
    const change = await placeFolder(root, join(root, '.x/skills/pdf'), source);
    const placed = [
      '.x',
      '.x/skills',
      '.x/skills/pdf',
      '.x/skills/pdf/SKILL.md',
      '.x/skills/pdf/a',
      '.x/skills/pdf/a/b',
    ];
    expect(tree(root)).toEqual([...placed, 'keep']);
    await change.undo();
    expect(tree(root)).toEqual(['keep']);
  });

  it('replaces the folder as a whole, and undo restores it', async () => {
    const [root, source] = [temporaryFolder({ 'skills/pdf/old': 'old' }), temporaryFolder(SOURCE)];
    const target = join(root, 'skills/pdf');
    await (await placeFolder(root, target, source)).undo();
    expect(tree(root)).toEqual(['skills', 'skills/pdf', 'skills/pdf/old']);
    await (await placeFolder(root, target, source)).keep();
    expect(tree(target)).toEqual(['SKILL.md', 'a', 'a/b']);
    expect(readdirSync(dirname(target))).toEqual(['pdf']);
  });

  it('deletes what a crash has left beside the folder, and nothing else', async () => {
    const id = '0b0e5f6c-7f0c-4a0e-9d5f-0123456789ab';
    const kept = [`.other.${id}.old`, `.pdf.mine.old`, 'pdf'];
    const [root, source] = [temporaryFolder(), temporaryFolder(SOURCE)];
    for (const name of [`.pdf.${id}.draft`, `.pdf.${id}.old`, ...kept]) write(root, { [`${name}/SKILL.md`]: '' });
    await (await placeFolder(root, join(root, 'pdf'), source)).keep();
    expect(readdirSync(root).toSorted()).toEqual(kept);
  });

  it('replaces a link itself and not its target', async () => {
    const [root, source, outside] = [temporaryFolder(), temporaryFolder(SOURCE), temporaryFolder({ mine: '' })];
    symlinkSync(outside, join(root, 'pdf'));
    await (await placeFolder(root, join(root, 'pdf'), source)).keep();
    expect([readFileSync(join(root, 'pdf/SKILL.md'), 'utf8'), tree(outside)]).toEqual(['new', ['mine']]);
  });

  it('follows a link inside the root and refuses one that leads out or a file', async () => {
    const [root, source, outside] = [
      temporaryFolder({ 'dotfiles/x': '', file: '' }),
      temporaryFolder(SOURCE),
      temporaryFolder(),
    ];
    symlinkSync('dotfiles', join(root, '.in'));
    symlinkSync(outside, join(root, '.out'));
    await (await placeFolder(root, join(root, '.in/skills/pdf'), source)).keep();
    expect(existsSync(join(root, 'dotfiles/skills/pdf/SKILL.md'))).toBe(true);
    await expect(placeFolder(root, join(root, '.out/skills/pdf'), source)).rejects.toThrow('leads out of');
    await expect(placeFolder(root, join(root, 'file/pdf'), source)).rejects.toThrow('is no folder');
    expect(tree(outside)).toEqual([]);
  });
});

describe('removeFolder', () => {
  it('removes the folder and its empty parents, and undo restores it', async () => {
    const root = temporaryFolder({ 'x/skills/pdf/SKILL.md': '', 'y/skills/pdf/SKILL.md': '', 'y/other': '' });
    const before = tree(root);
    await (await removeFolder(root, join(root, 'x/skills/pdf'))).undo();
    expect(tree(root)).toEqual(before);
    for (const target of ['x/skills/pdf', 'y/skills/pdf', 'z/gone'])
      await (await removeFolder(root, join(root, target))).keep();
    expect(tree(root)).toEqual(['y', 'y/other']);
  });

  it('refuses links, paths that lead out, and the root', async () => {
    const [root, outside] = [temporaryFolder(), temporaryFolder({ 'pdf/SKILL.md': '' })];
    symlinkSync(join(outside, 'pdf'), join(root, 'pdf'));
    symlinkSync(outside, join(root, 'skills'));
    for (const target of ['pdf', 'skills/pdf', '.']) {
      await expect(removeFolder(root, join(root, target))).rejects.toThrow('leads out of');
    }
    expect(tree(outside)).toEqual(['pdf', 'pdf/SKILL.md']);
  });
});

describe('a listing', () => {
  it('contains files and links, and a digest of the content', async () => {
    const folder = temporaryFolder(SOURCE);
    const digest = await contentDigest(folder);
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/u);
    expect(await contentDigest(temporaryFolder(SOURCE))).toBe(digest);
    symlinkSync('SKILL.md', join(folder, 'a/link'));
    expect(await listFolder(folder)).toEqual({ files: ['SKILL.md', 'a/b'], links: ['a/link'] });
    write(folder, { 'a/b': '2' });
    expect(await contentDigest(folder)).not.toBe(digest);
  });
});

describe('checkProjectRoot', () => {
  it('returns the folder of a git repository', async () => {
    const root = temporaryFolder({ '.git': 'gitdir: elsewhere' });
    expect(await checkProjectRoot(`${root}/`)).toBe(root);
  });

  it('rejects other paths', async () => {
    const root = temporaryFolder({ 'repo/.git/HEAD': '', 'plain/x': '', file: '' });
    symlinkSync('repo', join(root, 'link'));
    const faults = {
      link: 'symbolic link',
      'link/.git': 'symbolic link',
      plain: 'git repository',
      file: 'existing folder',
      none: 'existing folder',
      'repo/../repo': '".."',
      'a\0': 'NUL',
    };
    for (const [path, fault] of Object.entries(faults)) {
      await expect(checkProjectRoot(`${root}/${path}`), path).rejects.toThrow(fault);
    }
    await expect(checkProjectRoot('repo')).rejects.toThrow('absolute');
  });
});
