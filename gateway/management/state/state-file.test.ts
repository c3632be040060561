import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Type } from 'typebox';
import { expect, it, onTestFinished } from 'vitest';
import { StateFile, StateFileError } from './state-file.ts';

const Counters = Type.Object({ counters: Type.Record(Type.String(), Type.Integer()) });

function makeFile() {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-state-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const path = join(folder, 'counters.json');
  return { path, file: new StateFile(path, Counters, { counters: {} }) };
}

it('starts with the empty document and writes no file for it', async () => {
  const { path, file } = makeFile();
  expect(await file.read()).toEqual({ counters: {} });
  await file.update((document) => document);
  expect(existsSync(path)).toBe(false);
});

it('keeps every one of many concurrent changes, in a private file', async () => {
  const { path, file } = makeFile();
  const names = Array.from({ length: 50 }, (_, index) => `c${String(index)}`);
  await Promise.all(names.map((name) => file.update(({ counters }) => ({ counters: { ...counters, [name]: 1 } }))));
  expect(Object.keys((await new StateFile(path, Counters, { counters: {} }).read()).counters)).toEqual(names);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it('keeps the document when a change throws, and runs the next change', async () => {
  const { file } = makeFile();
  await file.update(() => ({ counters: { a: 1 } }));
  await expect(
    file.update(() => {
      throw new Error('refused');
    }),
  ).rejects.toThrow('refused');
  expect(await file.update(({ counters }) => ({ counters: { ...counters, b: 2 } }))).toEqual({
    counters: { a: 1, b: 2 },
  });
});

it('replaces the draft that a crash during a write has left', async () => {
  const { path, file } = makeFile();
  writeFileSync(`${path}.draft`, '{"counters": {"a"');
  expect(await file.read()).toEqual({ counters: {} });
  await file.update(() => ({ counters: { a: 1 } }));
  expect(existsSync(`${path}.draft`)).toBe(false);
});

it.each([
  ['text that is not JSON', '{'],
  ['another shape', '{"counters": {"a": "one"}}'],
])('rejects a file with %s and does not overwrite it', async (_name, text) => {
  const { path, file } = makeFile();
  writeFileSync(path, text);
  await expect(file.update(() => ({ counters: {} }))).rejects.toThrow(StateFileError);
  await expect(file.read()).rejects.toThrow(path);
  expect(readFileSync(path, 'utf8')).toBe(text);
});
