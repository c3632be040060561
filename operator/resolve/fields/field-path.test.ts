import { describe, expect, it } from 'vitest';
import { covers, occurrences, childPath, parsePath, valueAt } from './field-path.ts';
import { pathText } from '../../../crds/kinds/schema/object-path.ts';

describe('field paths', () => {
  it.each([
    [['spec', 'tools', 0, 'workload'], 'spec.tools[0].workload'],
    [['spec', 'map', 'a.b', 'x'], 'spec.map["a.b"].x'],
    [['a"b\\c'], '["a\\"b\\\\c"]'],
    [['a[0]', 1, 2], '["a[0]"][1][2]'],
    [['X-Header'], 'X-Header'],
    [[''], '[""]'],
    [[], ''],
  ])('writes %j as %s and parses it back', (path, text) => {
    expect(pathText(path)).toBe(text);
    expect(parsePath(text)).toEqual(path);
  });

  it.each([
    ['', 'a', 'a'],
    ['spec', 'a', 'spec.a'],
    ['spec', 'a.b', 'spec["a.b"]'],
    ['spec.list', 0, 'spec.list[0]'],
  ])('appends to %j the step %j as %s', (path, step, expected) => {
    expect(childPath(path, step)).toBe(expected);
  });

  it('parses invalid text up to the first invalid step', () => {
    expect(parsePath('spec.a[x]')).toEqual(['spec', 'a']);
  });

  it('returns the value at a path, undefined without one', () => {
    expect(valueAt({ a: [{ b: 1 }] }, ['a', 0, 'b'])).toBe(1);
    expect(valueAt({ a: null }, ['a', 'b', 'c'])).toBeUndefined();
  });
});

describe('field patterns', () => {
  const object = { spec: { tools: [{ overrides: { x: { name: 'y' }, 'p.q': {} } }, {}] } };

  it('lists every field that matches a pattern', () => {
    expect(occurrences(object, 'spec.tools[].overrides{}.name')).toEqual([
      { path: 'spec.tools[0].overrides.x.name', value: 'y' },
    ]);
    expect(occurrences(object, 'spec.tools[].overrides{}').map(({ path }) => path)).toEqual([
      'spec.tools[0].overrides.x',
      'spec.tools[0].overrides["p.q"]',
    ]);
    expect(occurrences(object, 'spec.missing')).toEqual([]);
  });

  it('covers itself and the fields below, not fields with the same prefix', () => {
    expect(covers('spec.audit', 'spec.audit')).toBe(true);
    expect(covers('spec.audit', 'spec.audit.enabled')).toBe(true);
    expect(covers('spec.tools', 'spec.tools[].name')).toBe(true);
    expect(covers('spec.audit', 'spec.auditor')).toBe(false);
  });
});
