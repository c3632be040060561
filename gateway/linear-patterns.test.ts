import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const CHARS = 16_384;
/** A linear pattern takes far less than 1 ms for `CHARS` characters, a quadratic one far more than this. */
const LIMIT_MS = 25;
const ATTEMPTS = 3;
const SINGLE = Array.from('aA0 -_.:;,/\\"\'=?@<>[]{}()#%+*~\n\r\t\u0000');

interface Found {
  readonly pattern: RegExp;
  readonly place: string;
}

/** Regular expressions of production code: literals, and texts that are compiled to one (`pattern` of a schema). */
function patternsOf(root: string): Found[] {
  const files = globSync('{gateway,operator,crds}/**/*.ts', { cwd: root }).filter(
    (file) => !file.includes('.test.ts') && !file.includes('testdata'),
  );
  return files.flatMap((file) => {
    const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true);
    const found: Found[] = [];
    const visit = (node: ts.Node): void => {
      const pattern = patternOf(node);
      const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
      if (pattern) found.push({ pattern, place: `${file}:${String(line)}` });
      ts.forEachChild(node, visit);
    };
    visit(source);
    return found;
  });
}

function patternOf(node: ts.Node): RegExp | undefined {
  if (ts.isRegularExpressionLiteral(node)) {
    const end = node.text.lastIndexOf('/');
    return new RegExp(node.text.slice(1, end), node.text.slice(end + 1));
  }
  if (!ts.isPropertyAssignment(node) && !ts.isVariableDeclaration(node)) return undefined;
  const { name, initializer } = node;
  if (!initializer || !ts.isStringLiteralLike(initializer) || !/^pattern$|PATTERN/.test(name.getText()))
    return undefined;
  return new RegExp(initializer.text, 'u');
}

/** Texts that repeat what a pattern looks for: its own words, with and without something between them. */
function attacksOn({ source }: RegExp): string[] {
  const words = source.replaceAll(/\\[a-zA-Z]/g, '\0').match(/[\w :"<-]{2,}/g) ?? [];
  const pairs = words.flatMap((word) => words.map((other) => `${word}a${other}`));
  const pumps = [...SINGLE, ...words.flatMap((word) => [word, `${word}-`, `${word}a `, `-${word}------`]), ...pairs];
  const starts = ['', words[0] ?? ''];
  return pumps.flatMap((pump) =>
    starts.map((start) => `${start}${pump.repeat(Math.ceil(CHARS / pump.length)).slice(0, CHARS)}\n\u0000`),
  );
}

function fastestMs(run: () => void): number {
  let fastest = Infinity;
  for (let attempt = 0; attempt < ATTEMPTS && fastest > LIMIT_MS; attempt += 1) {
    const start = process.threadCpuUsage();
    run();
    fastest = Math.min(fastest, process.threadCpuUsage(start).user / 1_000);
  }
  return fastest;
}

const slowPatterns = (found: readonly Found[]): string[] =>
  found.flatMap(({ pattern, place }) => {
    const slow = attacksOn(pattern).find((attack) => fastestMs(() => attack.replace(pattern, '')) > LIMIT_MS);
    return slow === undefined
      ? []
      : [`${place} ${String(pattern)} takes too long for ${JSON.stringify(slow.slice(0, 40))}`];
  });

describe('regular expressions of production code', () => {
  it('take linear time for text that repeats their own words', () => {
    const found = patternsOf(ROOT);
    expect(found.length).toBeGreaterThan(100);
    expect(slowPatterns(found)).toEqual([]);
  });

  it.each([/\beyJ[\w-]{8,}(?:\.[\w-]*){2,4}/g, /;.*$/])(
    'are checked by a measurement that detects the quadratic pattern %s',
    (pattern) => {
      expect(slowPatterns([{ pattern, place: 'here' }])).toHaveLength(1);
    },
  );
});
