import type { Aggregation } from '../../contract/aggregation/aggregation.ts';
import type { Problem } from '../../contract/problem.ts';
import type { Policy } from '../../policy/policy.ts';
import { mayHaveTool } from '../aggregation/tool-names.ts';
import type { View } from '../aggregation/view.ts';

/**
 * Lists the problems of the tool names in policies that no tool of `view` has. Leaves out a name that a backend of `unread`, whose
 * tools are unknown or differ per user, may have.
 */
export function unmatchedTools(
  policies: readonly Policy[],
  { tools }: Pick<View, 'tools'>,
  rules: Aggregation,
  unread: readonly string[],
): Problem[] {
  const mayExist = (name: string): boolean => unread.some((backend) => mayHaveTool(rules, backend, name));
  return policies.flatMap(({ namedTools = [] }) =>
    namedTools.flatMap(({ name, unmatched }) => (tools.has(name) || mayExist(name) ? [] : [unmatched])),
  );
}
