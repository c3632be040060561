import type { Aggregation, ToolOverride } from '../../gateway/contract/aggregation/aggregation.ts';
import { combineToolRules, hasFilter, type ToolRules } from '../../gateway/contract/aggregation/aggregation.ts';
import { childPath } from './fields/field-path.ts';
import type { Report, Scope, ObjectScope } from './scope.ts';
import type { VirtualMCPServer, MCPToolConfig } from './snapshot.ts';

type AggregationSpec = NonNullable<NonNullable<VirtualMCPServer['spec']['config']>['aggregation']>;
type WorkloadSpec = NonNullable<AggregationSpec['tools']>[number];
type WorkloadTools = NonNullable<Aggregation['tools']>[number];

const PATH = 'spec.config.aggregation';
const DEFAULT_PREFIX_FORMAT = '{workload}_';

/**
 * Resolves the aggregation of the backends' tools. `backends` are the names of the group's members, `own` the tool rules that
 * members have in every virtual server.
 */
export function resolveAggregation(
  scope: Scope,
  backends: readonly string[],
  own: ReadonlyMap<string, ToolRules>,
): Aggregation {
  const spec = scope.vmcp.spec.config?.aggregation ?? {};
  const report = scope.on(scope.vmcp);
  checkStrategy(spec, backends, report);
  checkWorkloads(spec, backends, report);
  const tools = (spec.tools ?? []).map((entry, index) =>
    resolveWorkload(entry, `${PATH}.tools[${String(index)}]`, scope, own.get(entry.workload)),
  );
  const settings = spec.conflictResolutionConfig;
  const { enabled, maxLength } = spec.instructions ?? {};
  return {
    conflict_resolution: spec.conflictResolution ?? 'prefix',
    prefix_format: settings?.prefixFormat ?? DEFAULT_PREFIX_FORMAT,
    default_tool_visibility: spec.defaultToolVisibility ?? 'allow',
    ...(settings?.priorityOrder && { priority_order: settings.priorityOrder }),
    ...(spec.excludeAllTools !== undefined && { exclude_all_tools: spec.excludeAllTools }),
    ...(spec.instructions && {
      instructions: {
        ...(enabled !== undefined && { enabled }),
        ...(maxLength !== undefined && { max_length: maxLength }),
      },
    }),
    ...(spec.maxToolNameLength !== undefined && { max_tool_name_length: spec.maxToolNameLength }),
    ...(spec.portableSchemas !== undefined && { portable_schemas: spec.portableSchemas }),
    ...(tools.length > 0 && { tools }),
  };
}

function checkStrategy(spec: AggregationSpec, backends: readonly string[], report: Report): void {
  const strategy = spec.conflictResolution ?? 'prefix';
  const { prefixFormat, priorityOrder = [] } = spec.conflictResolutionConfig ?? {};
  const orderPath = `${PATH}.conflictResolutionConfig.priorityOrder`;
  if (strategy !== 'priority' && priorityOrder.length > 0) {
    report.warning('NoEffect', orderPath, `strategy ${strategy} ignores the order: remove it or use strategy priority`);
  }
  priorityOrder.forEach((name, index) => {
    const path = `${orderPath}[${String(index)}]`;
    if (priorityOrder.indexOf(name) < index) {
      report.problem('DuplicateEntry', path, `"${name}" is listed twice: remove one`);
    } else if (!backends.includes(name)) {
      report.warning('UnknownBackend', path, unknownBackend(name, backends));
    }
  });
  if (prefixFormat !== undefined) checkPrefixFormat(prefixFormat, strategy, report);
}

function checkPrefixFormat(format: string, strategy: string, report: Report): void {
  const path = `${PATH}.conflictResolutionConfig.prefixFormat`;
  const rest = format.replaceAll('{workload}', '');
  if (!/^[A-Za-z0-9_.-]*$/u.test(rest)) {
    report.problem(
      'InvalidPrefixFormat',
      path,
      'only {workload}, letters, digits, "_", "-" and "." are allowed in a prefix: for instance {workload}_',
    );
  } else if (strategy === 'none' && format !== DEFAULT_PREFIX_FORMAT) {
    report.warning('NoEffect', path, 'strategy none uses no prefix: remove it or use strategy prefix');
  } else if (!format.includes('{workload}') && strategy === 'prefix') {
    report.warning(
      'PrefixWithoutWorkload',
      path,
      'every backend gets the same prefix, so equal names still conflict: add {workload}',
    );
  }
}

function checkWorkloads(spec: AggregationSpec, backends: readonly string[], report: Report): void {
  spec.tools?.forEach(({ workload }, index) => {
    if (backends.includes(workload)) return;
    const path = `${PATH}.tools[${String(index)}].workload`;
    const effect =
      spec.defaultToolVisibility === 'deny'
        ? '; with default visibility deny, a backend without an entry has no visible tools'
        : '';
    report.warning('UnknownBackend', path, `${unknownBackend(workload, backends)}${effect}`);
  });
}

/** Returns the message for a name that is not a backend of the group. */
export function unknownBackend(name: string, backends: readonly string[]): string {
  const known = backends.length > 0 ? `the group has ${backends.join(', ')}` : 'the group has no backends';
  return `"${name}" is not a backend of this group (${known}): correct the name`;
}

/** Resolves the rules for one backend. `own` are those that its MCPServer refers to. */
function resolveWorkload(entry: WorkloadSpec, path: string, scope: Scope, own: ToolRules | undefined): WorkloadTools {
  const { workload, excludeAll, filter, overrides, toolConfigRef: ref } = entry;
  const report = scope.on(scope.vmcp);
  const inline = { ...(filter && { filter }), ...(overrides && { overrides }) };
  checkToolRules(inline, { filter: `${path}.filter`, overrides: `${path}.overrides` }, report);
  const shared = sharedTools(ref, scope);
  const rules = shared ? combineToolRules(inline, shared) : inline;
  if (excludeAll === true && hasFilter(rules)) {
    const [field, name] = hasFilter(inline) ? ['filter', 'filter'] : ['toolConfigRef', 'reference'];
    const message = `excludeAll hides every tool of this backend: remove the ${name} or excludeAll`;
    report.warning('NoEffect', `${path}.${field}`, message);
  }
  checkCombinedNames(sourcesOf(entry, path, inline, shared, own), report);
  if (shared && own && !hasFilter(inline)) checkBothReferences(entry, `${path}.toolConfigRef`, shared, own, scope);
  return { workload, ...(excludeAll !== undefined && { exclude_all: excludeAll }), ...rules };
}

/** Lists the places of the rules for one backend by precedence. */
function sourcesOf(
  { workload, toolConfigRef: ref }: WorkloadSpec,
  path: string,
  inline: ToolRules,
  shared: ToolRules | undefined,
  own: ToolRules | undefined,
): ToolSource[] {
  const reference = `${path}.toolConfigRef`;
  const sources: readonly (ToolSource | undefined)[] = [
    { place: 'this entry', fieldOf: (tool) => `${childPath(`${path}.overrides`, tool)}.name`, rules: inline },
    shared && { place: `MCPToolConfig "${ref?.name ?? ''}"`, fieldOf: () => reference, rules: shared },
    own && { place: `the MCPToolConfig of MCPServer "${workload}"`, fieldOf: () => reference, rules: own },
  ];
  return sources.filter((source) => source !== undefined);
}

/** Warns of a reference that repeats the one of the MCPServer, and of one whose filter replaces another filter. */
function checkBothReferences(
  { workload, toolConfigRef: ref }: WorkloadSpec,
  path: string,
  shared: ToolRules,
  own: ToolRules,
  scope: Scope,
): void {
  const report = scope.on(scope.vmcp);
  const other = scope.snapshot.servers.get(workload)?.spec.toolConfigRef?.name ?? '';
  if (ref?.name === other) {
    const message = `MCPServer "${workload}" already refers to MCPToolConfig "${other}": remove one of the two references`;
    report.warning('NoEffect', path, message);
  } else if (hasFilter(shared) && hasFilter(own)) {
    const message = `its filter replaces that of MCPToolConfig "${other}", to which MCPServer "${workload}" refers, so tools that are hidden there can be visible here: remove one of the two filters`;
    report.warning('ToolFilterReplaced', path, message);
  }
}

type Overrides = Readonly<Record<string, ToolOverride>>;

/** Fields of an object that hold tool rules. */
interface Paths {
  readonly filter: string;
  readonly overrides: string;
}

/** Tool names that the MCP specification recommends. */
const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/u;
const CONFIG: Paths = { filter: 'spec.toolsFilter', overrides: 'spec.toolsOverride' };

/** Returns the rules of a referenced MCPToolConfig, and reports its problems. Returns undefined for a missing config, as its reference reports. */
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
function checkToolRules({ filter = [], overrides = {} }: ToolRules, paths: Paths, report: Report): void {
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
interface ToolSource {
  /** The place, as a message names it. */
  readonly place: string;
  /** Returns the field of the virtual server that has the override of a tool, or the reference to it. */
  readonly fieldOf: (tool: string) => string;
  readonly rules: ToolRules;
}

/** Reports tools to which overrides from different places give one name. `sources` are sorted by precedence. */
function checkCombinedNames(sources: readonly ToolSource[], report: Report): void {
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
