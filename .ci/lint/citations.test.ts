import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..');
const TEXT = '*.{ts,js,cjs,md,yaml,yml,sh,py,css,html,go,tpl}';
const FOLDERS = '{.ci,.github,bin,charts,crds,docs,e2e,examples,gateway,operator}';
const FILES = globSync([TEXT, '{Make,Docker}file', `${FOLDERS}/**/${TEXT}`, '.ci/run', 'bin/vmcp'], {
  cwd: ROOT,
  exclude: ['**/node_modules/**', '.ci/lint/citations.test.ts'],
});

/** Pages that are not in the repository, in each spelling that has occurred. */
const OUTSIDE = [
  /\bcontract[ (]+(?:page )?\d/iu,
  /\bcontract\/[\w-]+\.md/u,
  /(?<![\w-])(?:auth|crds-operator|vmcp-gateway|management-api|regressions)\.md/u,
  /\bcontract (?:vmcp-gateway|crds-operator|management-api|auth)\b/u,
  /\bDESIGN\b/u,
  /\bregressions? \d/iu,
  /\bacceptance \d/iu,
  /\bspec(?:ification)? \d/iu,
  /\bsection \d+(?:\.\d+)? of the spec/iu,
];
/** Page of this repository that a comment cites. */
const PAGE = /(?<![\w./-])docs\/[\w/-]+\.md/gu;

/** Row of docs/threats.md that a test names, such as `row 17` or `rows 7 to 9`. */
const ROWS = /\brows? (\d+)(?:(?:, | and | to )(\d+))?/gu;

const linesOf = (file: string): string[] => readFileSync(join(ROOT, file), 'utf8').split('\n');
const placesOf = (matches: (line: string) => boolean): string[] =>
  FILES.flatMap((file) =>
    linesOf(file).flatMap((line, index) => (matches(line) ? [`${file}:${String(index + 1)}: ${line.trim()}`] : [])),
  );

describe('citations', () => {
  it('name no page outside the repository', () => {
    expect(placesOf((line) => OUTSIDE.some((pattern) => pattern.test(line)))).toEqual([]);
  });

  it('name pages below docs/ that exist', () => {
    const isLost = (line: string): boolean => [...line.matchAll(PAGE)].some(([page]) => !existsSync(join(ROOT, page)));
    expect(placesOf(isLost)).toEqual([]);
  });

  it('name rows of docs/threats.md that exist', () => {
    const table = readFileSync(join(ROOT, 'docs/threats.md'), 'utf8');
    const rows = new Set([...table.matchAll(/^\| (\d+) /gmu)].map(([, row]) => row));
    const isLost = (line: string): boolean =>
      [...line.matchAll(ROWS)].some(([, ...cited]) => cited.some((row: string | undefined) => row && !rows.has(row)));
    const tests = /^(?:e2e\/scenarios|gateway\/authserver)\/.*\.test\.ts:/u;
    expect(placesOf(isLost).filter((place) => tests.test(place))).toEqual([]);
  });
});
