import { globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const MOST_FILES = 25;
/** Folders of single cases: they grow with the cases and are not read as a whole. */
const CASES = /\/(testdata|samples)(\/|$)/u;

const files = globSync('{charts,crds,docs,e2e,examples,gateway,operator}/**/*', {
  cwd: root,
  exclude: ['**/node_modules/**', '**/__pycache__/**'],
}).filter((path) => statSync(join(root, path)).isFile());
const sources = files.filter(
  (file) => /^(crds|gateway|operator)\/.*\.ts$/u.test(file) && !/\.test\.ts$|\/testdata\//u.test(file),
);

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/gu)].map(([, path = '']) =>
    normalize(join(dirname(file), path)),
  );
}

/** Returns the two sibling folders that an import connects; undefined when one file lies above the other. */
function roomsOf(from: string, to: string): [string, string] | undefined {
  const [one, two] = [from.split('/'), to.split('/')];
  const depth = one.findIndex((part, index) => part !== two[index]);
  if (depth === -1 || depth >= one.length - 1 || depth >= two.length - 1) return undefined;
  return [one.slice(0, depth + 1).join('/'), two.slice(0, depth + 1).join('/')];
}

/** Arrows between sibling folders, with one import as evidence each. */
const arrows = new Map<string, Map<string, string>>();
for (const file of sources) {
  for (const target of importsOf(file)) {
    const [from, to] = roomsOf(file, target) ?? [];
    if (from === undefined || to === undefined) continue;
    arrows.set(from, (arrows.get(from) ?? new Map<string, string>()).set(to, `${file} imports ${target}`));
  }
}

/** Returns the imports that lead from `room` back to it; undefined when none do. */
function circleOf(room: string): string[] | undefined {
  const queue: { at: string; path: string[] }[] = [{ at: room, path: [] }];
  const seen = new Set<string>();
  for (const { at, path } of queue) {
    for (const [next, evidence] of arrows.get(at) ?? []) {
      if (next === room) return [...path, evidence];
      if (seen.has(next)) continue;
      seen.add(next);
      queue.push({ at: next, path: [...path, evidence] });
    }
  }
  return undefined;
}

describe('folders', () => {
  it('import each other in one direction only', () => {
    expect(arrows.size).toBeGreaterThan(20);
    expect([...arrows.keys()].flatMap((room) => circleOf(room) ?? [])).toEqual([]);
  });

  it(`hold at most ${String(MOST_FILES)} files of their own`, () => {
    const counts = Map.groupBy(files, (file) => dirname(file));
    const full = [...counts].filter(([folder, { length }]) => length > MOST_FILES && !CASES.test(folder));
    expect(full.map(([folder, { length }]) => `${folder}: ${String(length)} files`)).toEqual([]);
  });
});
