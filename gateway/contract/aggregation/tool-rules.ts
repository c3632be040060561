import type { Aggregation } from './aggregation.ts';

/** Filter and overrides for the tools of one backend. */
export type ToolRules = NonNullable<Aggregation['backend_tools']>[string];

/**
 * Combines two sets of rules for one backend. The filter is that of `first` unless it is empty; an override of `first` replaces
 * the one of `second` for the same tool.
 */
export function combineToolRules(first: ToolRules, second: ToolRules): ToolRules {
  const { filter, filter_source: source } = hasFilter(first) ? first : second;
  const overrides = { ...second.overrides, ...first.overrides };
  return {
    ...(filter && { filter }),
    ...(source !== undefined && { filter_source: source }),
    ...(Object.keys(overrides).length > 0 && { overrides }),
  };
}

/** Returns true for rules that hide tools. An empty filter hides none. */
export const hasFilter = ({ filter = [] }: ToolRules): boolean => filter.length > 0;

/** Returns the rules that a backend has in every virtual server. */
export const ownToolRules = ({ backend_tools: rules = {} }: Aggregation, backend: string): ToolRules =>
  (Object.hasOwn(rules, backend) && rules[backend]) || {};
