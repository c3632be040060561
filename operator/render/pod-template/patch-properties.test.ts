import { describe, expect, it } from 'vitest';
import { canonicalTemplate, strategicMerge } from './patch.ts';
import { POD_TEMPLATE_CHOICES, patchFaults } from './check.ts';
import { POD_TEMPLATE_TYPES, type FieldType } from './types.ts';
import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';

/** Returns a generator of reproducible numbers (mulberry32). */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  };
}
type Dice = ReturnType<typeof dice>;

const SCALARS: Readonly<Record<string, readonly unknown[]>> = {
  string: ['', 'a', 'b'],
  text: ['', 'a'],
  boolean: [true, false],
  flag: [true, false],
  integer: [0, 1, 8080],
  count: [0, 5],
  port: [80, 'http'],
  quantity: ['0', '1000m', '1024Mi', 2, '1.5Gi'],
  map: [{}, { a: 'b' }, { a: 'c', d: '' }],
  quantities: [{}, { cpu: '0.5' }, { memory: '1024Mi', cpu: 1 }],
};

const TEMPLATE: FieldType = { name: 'PodTemplateSpec', list: false, keys: [] };
const pick = <T>(roll: Dice, choices: readonly T[]): T | undefined => choices[roll(choices.length)];

/** Generates a valid value of a type; `depth` limits its size. */
function valid(roll: Dice, type: FieldType, depth: number): unknown {
  if (type.list) return validItems(roll, type, depth);
  const fields = POD_TEMPLATE_TYPES.get(type.name);
  if (!fields) return pick(roll, SCALARS[type.name] ?? []);
  const chosen = [...fields].filter(() => roll(depth > 4 ? 12 : 3) === 0);
  return Object.fromEntries(
    chosen.map(([name, field]) => {
      const choices = POD_TEMPLATE_CHOICES.get(`${type.name}.${name}`);
      return [name, choices ? pick(roll, choices) : valid(roll, field, depth + 1)];
    }),
  );
}

function validItems(roll: Dice, type: FieldType, depth: number): unknown[] {
  const items = Array.from({ length: roll(3) }, () => valid(roll, { ...type, list: false }, depth + 1));
  const [key] = type.keys;
  if (key === undefined) return items;
  return items.map((item, index) => ({
    ...(item as JsonObject),
    [key]: key === 'containerPort' ? index + 1 : `k${String(index)}`,
  }));
}

/** Generates arbitrary JSON with member names of pod templates. */
function garbage(roll: Dice, depth: number): unknown {
  const names = [
    'metadata',
    'spec',
    'containers',
    'name',
    'env',
    'volumes',
    '$patch',
    '$retainKeys',
    '__proto__',
    'labels',
  ];
  const scalars = [null, true, 0, -1.5, 'a', 'delete', 'replace', '', '9e99'];
  const kind = depth > 5 ? 2 : roll(3);
  if (kind === 0) return Array.from({ length: roll(4) }, () => garbage(roll, depth + 1));
  if (kind === 2) return pick(roll, scalars);
  return Object.fromEntries(Array.from({ length: roll(5) }, () => [pick(roll, names), garbage(roll, depth + 1)]));
}

function nulls(value: unknown): number {
  if (value === null || value === undefined) return 1;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + nulls(item), 0);
  return isObject(value) ? nulls(Object.values(value)) : 0;
}

const seeds = Array.from({ length: 300 }, (_, index) => index + 1);
const template = (roll: Dice): JsonObject => valid(roll, TEMPLATE, 0) as JsonObject;

describe('any patch', () => {
  it('of valid types has no fault', () => {
    for (const seed of seeds) expect(patchFaults(template(dice(seed))), `seed ${String(seed)}`).toEqual([]);
  });

  it('gives the same result when applied twice', () => {
    for (const seed of seeds) {
      const roll = dice(seed);
      const [base, patch] = [template(roll), template(roll)];
      const once = strategicMerge(base, patch);
      expect(strategicMerge(once, patch), `seed ${String(seed)}`).toEqual(once);
    }
  });

  it('on an empty template is the patch itself, and an empty patch changes nothing', () => {
    for (const seed of seeds) {
      const patch = template(dice(seed));
      expect(strategicMerge({}, patch)).toEqual(patch);
      expect(strategicMerge(patch, {})).toEqual(patch);
    }
  });

  it('gives a template that is canonical after one step', () => {
    for (const seed of seeds) {
      const roll = dice(seed);
      const canonical = canonicalTemplate(strategicMerge(template(roll), template(roll)));
      expect(canonicalTemplate(canonical), `seed ${String(seed)}`).toEqual(canonical);
      expect(patchFaults(canonical)).toEqual([]);
      expect(nulls(canonical)).toBe(0);
    }
  });

  it('of arbitrary JSON is checked, and merged when it has no fault', () => {
    let merged = 0;
    for (const seed of Array.from({ length: 5000 }, (_, index) => index)) {
      const patch = garbage(dice(seed), 0);
      if (patchFaults(patch).length > 0) continue;
      merged += 1;
      const result = canonicalTemplate(
        strategicMerge({ spec: { containers: [{ name: 'a', env: [] }] } }, patch as JsonObject),
      );
      expect(nulls(result), `seed ${String(seed)}`).toBe(0);
    }
    expect(merged).toBeGreaterThan(100);
  });
});
