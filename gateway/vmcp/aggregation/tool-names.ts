import type { Aggregation } from '../../contract/aggregation/aggregation.ts';
import { shortHead, shortToolName } from '../../policy/tool-name.ts';
import type { Tool } from './tool-rules.ts';
import type { Conflict } from './view.ts';
import { quote, type WarningCollector } from './warnings.ts';

export interface NamedTool extends Tool {
  /** Name after conflict resolution and before shortening. */
  readonly full: string;
  readonly advertised: string;
}

/** Returns `prefix_format` for one backend. */
export const prefixOf = (rules: Aggregation, backend: string): string =>
  rules.prefix_format.replaceAll('{workload}', () => backend);

/** Returns the part of a backend's prefix that shortened names keep. */
const keptPrefix = (rules: Aggregation, backend: string): string =>
  shortHead(prefixOf(rules, backend), rules.max_tool_name_length);

/** Returns true for a backend that may have the tool of this name. */
export const mayHaveTool = (rules: Aggregation, backend: string, name: string): boolean =>
  rules.conflict_resolution !== 'prefix' || name.startsWith(keptPrefix(rules, backend));

/** Returns true when no two backends can ever use the same tool name: no prefix starts with another one. */
export function hasDistinctPrefixes(rules: Aggregation, backends: readonly string[]): boolean {
  if (rules.conflict_resolution !== 'prefix') return false;
  const prefixes = backends.map((backend) => keptPrefix(rules, backend)).sort();
  return prefixes.every((prefix, index) => index === 0 || !prefix.startsWith(prefixes[index - 1] ?? ''));
}

/**
 * Gives every tool its advertised name and resolves or reports clashes. `tools` are sorted by backend, then by original
 * name; that order decides where no rule does. Hidden tools keep their names, because composite steps call them. Under
 * `none` they give way to advertised tools, so that a filter can resolve a clash.
 */
export function nameTools(
  tools: readonly Tool[],
  rules: Aggregation,
  warnings: WarningCollector,
): { tools: NamedTool[]; conflicts: Conflict[] } {
  const named = tools.map((tool) => {
    const full = rules.conflict_resolution === 'prefix' ? prefixOf(rules, tool.backend) + tool.name : tool.name;
    return { ...tool, full, advertised: shortToolName(full, rules.max_tool_name_length) };
  });
  const winners: NamedTool[] = [];
  const conflicts: Conflict[] = [];
  for (const [name, contenders] of Map.groupBy(named, (tool) => tool.advertised)) {
    const settled = contenders.length === 1 ? { winner: contenders[0] } : settle(name, contenders, rules, warnings);
    if ('reason' in settled) conflicts.push(settled);
    else if (settled.winner) winners.push(settled.winner);
  }
  return { tools: winners, conflicts };
}

function settle(
  name: string,
  contenders: readonly NamedTool[],
  rules: Aggregation,
  warnings: WarningCollector,
): { winner: NamedTool | undefined } | Conflict {
  switch (rules.conflict_resolution) {
    case 'prefix':
      return { winner: keepFirst(contenders, warnings) };
    case 'priority':
      return { winner: keepHighest(contenders, rules.priority_order ?? [], warnings) };
    case 'manual':
      return conflict(name, contenders);
    case 'none': {
      const shown = contenders.filter((tool) => !tool.hidden);
      return shown.length > 1 ? conflict(name, shown) : { winner: shown[0] ?? contenders[0] };
    }
  }
}

function keepFirst(contenders: readonly NamedTool[], warnings: WarningCollector): NamedTool | undefined {
  const [winner, ...losers] = contenders;
  for (const loser of losers) {
    const owner = quote(winner?.backend ?? '');
    warnings.add(
      'ToolNameClash',
      loser.backend,
      `tools of ${quote(loser.backend)} are not served, because ${owner} has a tool of the same name; override one name`,
      loser.advertised,
    );
  }
  return winner;
}

/**
 * Resolves a clash by priority. Without a priority every tool is dropped: a renamed tool, or one chosen by alphabet,
 * might evade a policy.
 */
function keepHighest(
  contenders: readonly NamedTool[],
  order: readonly string[],
  warnings: WarningCollector,
): NamedTool | undefined {
  const ranked = contenders
    .filter((tool) => order.includes(tool.backend))
    .sort((left, right) => order.indexOf(left.backend) - order.indexOf(right.backend));
  const backends = new Set(contenders.map((tool) => tool.backend));
  if (ranked.length > 0)
    return keepFirst([...ranked, ...contenders.filter((tool) => !order.includes(tool.backend))], warnings);
  if (backends.size === 1) return keepFirst(contenders, warnings);
  const owners = [...backends].map(quote).join(', ');
  for (const { backend, advertised } of contenders) {
    warnings.add(
      'ToolNameClash',
      backend,
      `tools of ${quote(backend)} are not served, because ${owners} have them and none is in priority_order; add one`,
      advertised,
    );
  }
  return undefined;
}

function conflict(name: string, contenders: readonly NamedTool[]): Conflict {
  const owners = contenders.map(({ backend, original }) => ({ backend, tool: original }));
  const described = owners.map(({ backend, tool }) => `${quote(tool)} of ${quote(backend)}`).join(' and ');
  return {
    reason: 'ConflictUnresolved',
    name,
    owners,
    message: `the tool name ${quote(name)} belongs to ${described}: give one of them another name in aggregation.tools[].overrides`,
  };
}

const USUAL_NAME = /^[A-Za-z0-9_.-]{1,128}$/;

export function warnUnusualNames(tools: readonly NamedTool[], warnings: WarningCollector): void {
  for (const { hidden, advertised, backend } of tools) {
    if (hidden || USUAL_NAME.test(advertised)) continue;
    warnings.add(
      'ToolNameUnusual',
      backend,
      'tool names outside 1 to 128 characters of [A-Za-z0-9_.-] are served, but some clients refuse them',
      advertised,
    );
  }
}
