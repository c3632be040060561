import { describe, expect, it } from 'vitest';
import { parsePath } from '../../resolve/fields/field-path.ts';
import { parseDocuments } from './document.ts';

const parse = (text: string) => parseDocuments('a.yaml', text);
const lineOf = (text: string, path: string, index = 0) => parse(text).documents[index]?.locate(parsePath(path)).line;

describe('parseDocuments', () => {
  it('returns every document of a file and skips empty ones', () => {
    const { documents, problems } = parse('a: 1\n---\n---\n# nothing\n---\nb: 2\n');
    expect(documents.map(({ value }) => value)).toEqual([{ a: 1 }, { b: 2 }]);
    expect(problems).toEqual([]);
  });

  it('reads JSON', () => {
    expect(parse('{"a": [1, {"b": true}]}').documents[0]?.value).toEqual({ a: [1, { b: true }] });
  });

  it('reads anchors, aliases and merge keys', () => {
    const text = 'base: &base {a: 1}\nuse:\n  <<: *base\n  b: 2\n';
    expect(parse(text).documents[0]?.value).toEqual({ base: { a: 1 }, use: { a: 1, b: 2 } });
  });

  it.each([
    ['a tab as indentation', 'a:\n\tb: 1\n', 2],
    ['a missing bracket', 'a: 1\nb: [1, 2\nc: 3\n', 3],
    ['an unclosed quote', 'a: 1\nb: "x\n', 3],
    ['a colon in a plain text', 'a: 1\nb: c: d\n', 2],
    ['a list and a map at one level', '- a\nb: 1\n', 2],
    ['a reserved character', 'a: 1\nb: @x\n', 2],
    ['an unknown tag', 'a: 1\nb: !secret x\n', 2],
    ['an alias without anchor', 'a: 1\nb: *nope\n', 1],
    ['a map as key', '? {a: 1}\n: b\n', 1],
  ])('refuses %s with its line', (_what, text, line) => {
    const { documents, problems } = parse(text);
    expect(documents).toEqual([]);
    expect(problems.map((problem) => [problem.reason, problem.line])).toEqual([['InvalidYAML', line]]);
  });

  it('keeps the valid documents of a file with an invalid one', () => {
    const { documents, problems } = parse('a: 1\n---\nb: c: d\n---\ne: 5\n');
    expect(documents.map(({ value }) => value)).toEqual([{ a: 1 }, { e: 5 }]);
    expect(problems).toMatchObject([{ line: 3, kind: 'Document', name: '2' }]);
  });

  it('reports a duplicate key with its path and both lines', () => {
    const { documents, problems } = parse('spec:\n  tools:\n    - x: 1\n      x: 2\n');
    expect(problems).toMatchObject([{ reason: 'DuplicateKey', line: 4, path: 'spec.tools[0].x' }]);
    expect(problems[0]?.message).toContain('line 3');
    expect(documents).toHaveLength(1);
  });

  it('rejects aliases that expand without bound, quickly', () => {
    const levels = Array.from(
      { length: 9 },
      (_, i) =>
        `a${String(i + 1)}: &a${String(i + 1)} [${Array(9)
          .fill(`*a${String(i)}`)
          .join(',')}]`,
    );
    const { documents, problems } = parse(`a0: &a0 [x]\n${levels.join('\n')}\n`);
    expect(documents).toEqual([]);
    expect(problems).toMatchObject([{ reason: 'TooManyAliases' }]);
  });

  it.each(['a: &x\n  <<: *x\n  b: 1\n', 'a: &x [*x]\n'])(
    'does not fail on a value that contains itself: %j',
    (text) => {
      const { documents, problems } = parse(text);
      expect(documents.length + problems.length).toBeGreaterThan(0);
      expect(documents[0]?.locate(['a', 'missing']).line ?? 1).toBe(1);
    },
  );

  it('rejects too deep nesting', () => {
    expect(parse('['.repeat(50_000)).problems).toMatchObject([{ reason: 'InvalidYAML' }]);
  });

  it('reads 20,000 keys of one map in reasonable time', () => {
    const { documents } = parse(Array.from({ length: 20_000 }, (_, i) => `k${String(i)}: v`).join('\n'));
    expect(Object.keys(documents[0]?.value as object)).toHaveLength(20_000);
  });

  it('never quotes the file in a syntax message', () => {
    const texts = [
      's: hunter2"x\n hunter2: [',
      '- a\nhunter2: 1\n',
      's: "hunter2\n',
      's: |hunter2\n x\n',
      's: !hunter2 x\n',
      's: *hunter2\n',
    ];
    for (const text of texts) {
      const { problems } = parse(text);
      expect(problems).not.toEqual([]);
      expect(JSON.stringify(problems)).not.toContain('hunter2');
    }
  });
});

describe('locate', () => {
  const text = [
    'base: &base', //           1
    '  shared: 1', //           2
    'spec:', //                 3
    '  list:', //               4
    '    - name: a', //         5
    '      value: 1', //        6
    '    - name: b', //         7
    '      value: 2', //        8
    '  map:', //                9
    '    dotted.key: {x: 1}', // 10
    '  merged:', //             11
    '    <<: *base', //         12
    '    own: 1', //            13
    '  alias: *base', //        14
    '  empty:', //              15
  ].join('\n');

  it.each([
    ['spec', 3],
    ['spec.list', 4],
    ['spec.list[0]', 5],
    ['spec.list[0].value', 6],
    ['spec.list[1].name', 7],
    ['spec.list[1].value', 8],
    ['spec.map["dotted.key"].x', 10],
    ['spec.merged.own', 13],
    ['spec.merged.shared', 2],
    ['spec.alias.shared', 2],
    ['spec.empty', 15],
  ])('finds %s', (path, line) => {
    expect(lineOf(text, path)).toBe(line);
  });

  it.each([
    ['a missing member is placed at its parent', 'spec.list[1].missing', 7],
    ['a missing item is placed at its list', 'spec.list[9].name', 4],
    ['a member of a scalar is placed at the scalar', 'spec.map["dotted.key"].x.y', 10],
    ['nothing at all is placed at the start', 'nothing', 1],
  ])('%s', (_what, path, line) => {
    expect(lineOf(text, path)).toBe(line);
  });

  it('counts lines across documents, comments and Windows line breaks', () => {
    expect(lineOf('# one\r\na: 1\r\n---\r\n# four\r\nb:\r\n  c: 1\r\n', 'b.c', 1)).toBe(6);
  });
});
