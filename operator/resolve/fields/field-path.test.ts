import { describe, expect, it } from 'vitest';
import { covers, occurrences } from './field-pattern.ts';
import { pathText } from '../../../crds/kinds/schema/object-path.ts';
import { childPath, parsePath, valueAt } from './field-path.ts';

describe('field paths', () => {
  it.each([
    [['spec', 'tools', 0, 'workload'], 'spec.tools[0].workload'],
    [['spec', 'map', 'a.b', 'x'], 'spec.map["a.b"].x'],
    [['a"b\\c'], '["a\\"b\\\\c"]'],
    [['a[0]', 1, 2], '["a[0]"][1][2]'],
    [['X-Header'], 'X-Header'],
    [[''], '[""]'],
    [[], ''],
  ])('%j is written %s and read back', (path, text) => {
    expect(pathText(path)).toBe(text);
    expect(parsePath(text)).toEqual(path);
  });

  it.each([
    ['', 'a', 'a'],
    ['spec', 'a', 'spec.a'],
    ['spec', 'a.b', 'spec["a.b"]'],
    ['spec.list', 0, 'spec.list[0]'],
  ])('%j and a step %j give %s', (path, step, expected) => {
    expect(childPath(path, step)).toBe(expected);
  });

  it('reads as much of a foreign text as it can', () => {
    expect(parsePath('spec.a[x]')).toEqual(['spec', 'a']);
  });

  it('gives the value at a path, undefined beyond the last', () => {
    expect(valueAt({ a: [{ b: 1 }] }, ['a', 0, 'b'])).toBe(1);
    expect(valueAt({ a: null }, ['a', 'b', 'c'])).toBeUndefined();
  });
});

describe('field patterns', () => {
  const object = { spec: { tools: [{ overrides: { x: { name: 'y' }, 'p.q': {} } }, {}] } };

  it('finds every place that a pattern names', () => {
    expect(occurrences(object, 'spec.tools[].overrides{}.name')).toEqual([
      { path: 'spec.tools[0].overrides.x.name', value: 'y' },
    ]);
    expect(occurrences(object, 'spec.tools[].overrides{}').map(({ path }) => path)).toEqual([
      'spec.tools[0].overrides.x',
      'spec.tools[0].overrides["p.q"]',
    ]);
    expect(occurrences(object, 'spec.missing')).toEqual([]);
  });

  it('covers itself and what is below, not what starts with the same letters', () => {
    expect(covers('spec.audit', 'spec.audit')).toBe(true);
    expect(covers('spec.audit', 'spec.audit.enabled')).toBe(true);
    expect(covers('spec.tools', 'spec.tools[].name')).toBe(true);
    expect(covers('spec.audit', 'spec.auditor')).toBe(false);
  });
});
