import { type ToolOverride, combineToolRules, type ToolRules } from '../../gateway/contract/aggregation/aggregation.ts';
import { childPath } from './fields/field-path.ts';
import type { ObjectScope, Report } from './scope.ts';
import type { MCPToolConfig } from './snapshot.ts';

type Overrides = Readonly<Record<string, ToolOverride>>;

/** Fields of an object that hold tool rules. */
interface Paths {
  readonly filter: string;
  readonly overrides: string;
}

/** Tool names that the MCP specification recommends. */
const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/u;
const CONFIG: Paths = { filter: 'spec.toolsFilter', overrides: 'spec.toolsOverride' };

/** Returns the rules of a referenced MCPToolConfig, and reports its problems. Returns undefined for a missing one, as its reference reports. */
export function sharedTools(ref: { readonly name: string } | undefined, scope: ObjectScope): ToolRules | undefined {
  const config = ref && scope.snapshot.toolConfigs.get(ref.name);
  return config && checkToolConfig(config, scope);
}

/** Returns the rules of an MCPToolConfig, and reports its problems. */
export function checkToolConfig(config: MCPToolConfig, scope: ObjectScope): ToolRules {
  const { toolsFilter: filter = [], toolsOverride: overrides = {} } = config.spec;
  const report = scope.on(config);
  const hasOverrides = Object.keys(overrides).length > 0;
  if (filter.length === 0 && !hasOverrides) {
    const message = 'it has no filter and no override, so it changes nothing: set toolsFilter or toolsOverride';
    report.warning('NoEffect', 'spec', message);
  }
  const rules = {
    ...(filter.length > 0 && { filter, filter_source: `MCPToolConfig/${config.metadata.name} ${CONFIG.filter}` }),
    ...(hasOverrides && { overrides }),
  };
  checkToolRules(rules, CONFIG, report);
  return rules;
}

/** Checks the rules of one object. */
export function checkToolRules({ filter = [], overrides = {} }: ToolRules, paths: Paths, report: Report): void {
  filter.forEach((name, index) => {
    if (name.trim() !== '') return;
    const message = 'a tool name is empty: write the name or remove the entry';
    report.problem('EmptyName', `${paths.filter}[${String(index)}]`, message);
  });
  const namePath = (original: string): string => `${childPath(paths.overrides, original)}.name`;
  for (const { first, second, name } of nameConflicts(overrides)) {
    const renamed = overrides[second]?.name === undefined ? first : second;
    const message = `"${first}" and "${second}" would both be called "${name}": give one another name`;
    report.problem('OverrideNameConflict', namePath(renamed), message);
  }
  for (const [original, { name = original }] of Object.entries(overrides)) {
    if (name === original || TOOL_NAME.test(name)) continue;
    const message = `"${name}" is not 1 to 128 letters, digits, "_", "-" or ".": some clients reject such a name`;
    report.warning('UnusualToolName', namePath(original), message);
  }
}

/** Two tools, by their original names, that overrides give the same name. */
interface NameConflict {
  readonly first: string;
  readonly second: string;
  readonly name: string;
}

function nameConflicts(overrides: Overrides): NameConflict[] {
  const owners = new Map<string, string>();
  return Object.entries(overrides).flatMap(([second, { name = second }]) => {
    const first = owners.get(name);
    owners.set(name, second);
    return first === undefined ? [] : [{ first, second, name }];
  });
}

/** Rules from one place. */
export interface ToolSource {
  /** The place, as a message names it. */
  readonly place: string;
  /** Returns the field of the virtual server that has the override of a tool, or the reference to it. */
  readonly fieldOf: (tool: string) => string;
  readonly rules: ToolRules;
}

/** Reports tools to which overrides from different places give one name. `sources` are sorted by precedence. */
export function checkCombinedNames(sources: readonly ToolSource[], report: Report): void {
  const { overrides = {} } = sources.map(({ rules }) => rules).reduce(combineToolRules, {});
  const sourceOf = (tool: string): ToolSource | undefined =>
    sources.find(({ rules }) => Object.hasOwn(rules.overrides ?? {}, tool));
  for (const { first, second, name } of nameConflicts(overrides)) {
    const [one, other] = [sourceOf(first), sourceOf(second)];
    if (!one || !other || one === other) continue;
    const [from, tool] = sources.indexOf(one) < sources.indexOf(other) ? [one, first] : [other, second];
    const message = `"${first}" (${one.place}) and "${second}" (${other.place}) would both be called "${name}": give one another name`;
    report.problem('OverrideNameConflict', from.fieldOf(tool), message);
  }
}
