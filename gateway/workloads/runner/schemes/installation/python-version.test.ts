import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findPythons, requiredPython } from './python-version.ts';

describe('requiredPython', () => {
  it.each([
    [
      'uv 0.13',
      'Because new-py==1.0 requires Python >=3.12 and only the following versions of new-py are available:\n  new-py==1.0\nAnd because new-py==1.1 requires Python >=3.13, <3.15 and you require new-py',
      '>=3.13,<3.15',
    ],
    [
      'older uv',
      'Because the current Python version (3.11.7) does not satisfy Python>=3.12 and basic-memory==0.15.2 depends on Python>=3.12, we can conclude',
      '>=3.12',
    ],
    ['pip', "ERROR: Package 'new-py' requires a different Python: 3.11.7 not in '>=3.12'", '>=3.12'],
    [
      'pip 26',
      "ERROR: Packages require a different Python. 3.11.7 not in:\n'<3.15,>=3.12' (required by new-py 1.1 (from x))\n'>=3.10.1' (required by new-py 1.0)",
      '<3.15,>=3.12',
    ],
    [
      'pip with an index',
      'ERROR: Ignored the following versions that require a different python version: 0.1.0 Requires-Python >=3.12; 0.2.0 Requires-Python >=3.12.1\nERROR: No matching distribution found for x',
      '>=3.12.1',
    ],
    ['an older Python', 'Because old==1.0 requires Python <3.10 and you require old', '<3.10'],
  ])('reads the output of %s', (_tool, output, required) => {
    expect(requiredPython(output)).toBe(required);
  });

  it.each(['error: Python 3.12 crashed', 'ERROR: No matching distribution found for x', ''])(
    'finds no requirement in "%s"',
    (output) => {
      expect(requiredPython(output)).toBeUndefined();
    },
  );
});

describe('findPythons', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'vmcp-pythons-'));
    for (const name of ['python3', 'python3.9', 'python3.11', 'python3.12', 'python3.14']) {
      writeFileSync(join(folder, name), '');
      chmodSync(join(folder, name), 0o755);
    }
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  it.each([
    ['>=3.12', '14 12'],
    ['>=3.12,<3.14', '12'],
    ['>3.11', '14 12'],
    ['<=3.11', '11 9'],
    ['>=3.9.1,<3.12.0', '11 9'],
    ['<3.12.4', '12 11 9'],
    ['~=3.11', '14 12 11'],
    ['!=3.12', '14 11 9'],
    ['==3.12.*', '12'],
    ['3.11', '11'],
    ['3.11.7', '11'],
    ['3', '14 12 11 9'],
    ['python3.9', '9'],
    ['>=3.15', ''],
    ['pypy', ''],
  ])('lists those for %s', (request, minors) => {
    const paths = minors.split(' ').filter(Boolean);
    expect(findPythons(request, { PATH: folder })).toEqual(paths.map((minor) => join(folder, `python3.${minor}`)));
  });

  it('accepts the path of an interpreter', () => {
    expect(findPythons(join(folder, 'python3'), {})).toEqual([join(folder, 'python3')]);
    expect(findPythons('/nowhere/python3', {})).toEqual([]);
  });
});
