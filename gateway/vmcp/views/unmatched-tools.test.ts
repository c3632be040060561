import { expect, it } from 'vitest';
import type { Aggregation } from '../../contract/aggregation/aggregation.ts';
import { ALLOW, type Policy } from '../../policy/policy.ts';
import type { Route } from '../aggregation/view.ts';
import { unmatchedTools } from './unmatched-tools.ts';

const route = (advertised: string): Route => ({
  ...{ kind: 'tools', backend: 'a', name: advertised, advertised, renamed: false },
  ...{ nameJson: Buffer.of(), json: Buffer.of() },
});
const policyOn = (...names: string[]): Policy => ({
  decide: () => ALLOW,
  namedTools: names.map((name) => ({ name, unmatched: { reason: 'Unmatched', path: name, message: '' } })),
});
const rules = (conflict_resolution: Aggregation['conflict_resolution']): Aggregation => ({
  ...{ conflict_resolution, prefix_format: '{workload}_', default_tool_visibility: 'allow' },
});
const pathsOf = (policies: Policy[], strategy: Aggregation['conflict_resolution'], unread: string[]): string[] => {
  const tools = new Map([
    ['a_one', route('a_one')],
    ['a_full', route('a_short')],
  ]);
  return unmatchedTools(policies, { tools }, rules(strategy), unread).map(({ path }) => path);
};

it('lists names that no tool has, neither in lists nor as the full form of a shortened name', () => {
  const policies = [{ decide: () => ALLOW }, policyOn('a_one', 'a_two', 'a_full'), policyOn('b_one')];
  expect(pathsOf(policies, 'prefix', [])).toEqual(['a_two', 'b_one']);
});

it('leaves out names that a backend with unknown tools may have', () => {
  expect(pathsOf([policyOn('b_one', 'c_one')], 'prefix', ['b'])).toEqual(['c_one']);
  expect(pathsOf([policyOn('b_one', 'c_one')], 'priority', ['b'])).toEqual([]);
});
