import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { replaceFile, replaceFileSync } from './files.ts';

it.each([
  ['later', replaceFile],
  ['at once', async (path: string, content: string): Promise<void> => replaceFileSync(path, content)],
])('replaces a private file %s, and leaves no draft', async (_, replace) => {
  const dir = mkdtempSync(join(tmpdir(), 'vmcp-kit-'));
  onTestFinished(() => {
    rmSync(dir, { recursive: true });
  });
  const path = join(dir, 'file');
  writeFileSync(path, 'old', { mode: 0o644 });
  writeFileSync(`${path}.draft`, 'of a crash');
  await replace(path, 'new');
  expect(readFileSync(path, 'utf8')).toBe('new');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(dir)).toEqual(['file']);
  mkdirSync(join(dir, 'folder'));
  await expect(replace(join(dir, 'folder'), 'new')).rejects.toThrow();
  expect(readdirSync(dir)).toEqual(['file', 'folder']);
});
