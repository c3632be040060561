import { Linter } from 'eslint';
import regexp from 'eslint-plugin-regexp';
import { describe, expect, it } from 'vitest';
import { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import { KINDS } from './index.ts';

/** Returns every `pattern` and every key of `patternProperties` in a schema. */
function patternsOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]: [string, unknown]) => {
    if (key === 'pattern' && typeof value === 'string') return [value];
    const keys = key === 'patternProperties' ? Object.keys(value as object) : [];
    return [...keys, ...patternsOf(value)];
  });
}

/** Returns the reasons why a pattern takes more than linear time. */
function slowness(pattern: string): string[] {
  const rules: Linter.RulesRecord = {
    'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
    'regexp/no-super-linear-move': ['error', { report: 'potential' }],
  };
  return new Linter()
    .verify(`new RegExp(${JSON.stringify(pattern)}, 'u');`, [{ plugins: { regexp }, rules }])
    .map(({ message }) => message);
}

describe('the patterns of the schemas', () => {
  const patterns = [...new Set(patternsOf([...KINDS.map(({ schema }) => schema), GatewayConfig]))];

  it.each(patterns)('%s takes linear time', (pattern) => {
    expect(slowness(pattern)).toEqual([]);
  });

  it('detects a pattern of quadratic time', () => {
    expect(patterns.length).toBeGreaterThan(5);
    expect(slowness('^(a*)*$')).toHaveLength(1);
    expect(slowness(' +x')).toHaveLength(1);
  });
});
