import type { Aggregation } from '../../gateway/contract/gateway-config.ts';
import { childPath } from './fields/field-path.ts';
import type { Report, Scope } from './scope.ts';
import type { VirtualMCPServer } from './snapshot.ts';

type AggregationSpec = NonNullable<NonNullable<VirtualMCPServer['spec']['config']>['aggregation']>;
type WorkloadSpec = NonNullable<AggregationSpec['tools']>[number];
type WorkloadTools = NonNullable<Aggregation['tools']>[number];

const PATH = 'spec.config.aggregation';
const DEFAULT_PREFIX_FORMAT = '{workload}_';
/** Tool names that the MCP specification recommends. */
const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/u;

/** Resolves the aggregation of the backends' tools. `backends` are the names of the group's members. */
export function resolveAggregation(scope: Scope, backends: readonly string[]): Aggregation {
  const spec = scope.vmcp.spec.config?.aggregation ?? {};
  const report = scope.on(scope.vmcp);
  checkStrategy(spec, backends, report);
  checkWorkloads(spec, backends, report);
  const tools = (spec.tools ?? []).map((entry, index) =>
    resolveWorkload(entry, `${PATH}.tools[${String(index)}]`, report),
  );
  const settings = spec.conflictResolutionConfig;
  return {
    conflict_resolution: spec.conflictResolution ?? 'prefix',
    prefix_format: settings?.prefixFormat ?? DEFAULT_PREFIX_FORMAT,
    default_tool_visibility: spec.defaultToolVisibility ?? 'allow',
    ...(settings?.priorityOrder && { priority_order: settings.priorityOrder }),
    ...(spec.excludeAllTools !== undefined && { exclude_all_tools: spec.excludeAllTools }),
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

function resolveWorkload(entry: WorkloadSpec, path: string, report: Report): WorkloadTools {
  const { workload, excludeAll, filter, overrides } = entry;
  filter?.forEach((name, index) => {
    if (name.trim() === '') {
      report.problem(
        'EmptyName',
        `${path}.filter[${String(index)}]`,
        'a tool name is empty: write the name or remove the entry',
      );
    }
  });
  if (excludeAll === true && filter && filter.length > 0) {
    report.warning(
      'NoEffect',
      `${path}.filter`,
      'excludeAll hides every tool of this backend: remove the filter or excludeAll',
    );
  }
  if (overrides) checkOverrides(overrides, `${path}.overrides`, report);
  return {
    workload,
    ...(excludeAll !== undefined && { exclude_all: excludeAll }),
    ...(filter && { filter }),
    ...(overrides && { overrides }),
  };
}

function checkOverrides(overrides: NonNullable<WorkloadSpec['overrides']>, path: string, report: Report): void {
  const owners = new Map<string, string>();
  const namePath = (original: string): string => `${childPath(path, original)}.name`;
  for (const [original, { name = original }] of Object.entries(overrides)) {
    const owner = owners.get(name);
    if (owner !== undefined) {
      const renamed = overrides[original]?.name === undefined ? owner : original;
      const message = `"${owner}" and "${original}" would both be called "${name}": give one another name`;
      report.problem('OverrideNameConflict', namePath(renamed), message);
    }
    owners.set(name, original);
    if (name !== original && !TOOL_NAME.test(name)) {
      const message = `"${name}" is not 1 to 128 letters, digits, "_", "-" or ".": some clients reject such a name`;
      report.warning('UnusualToolName', namePath(original), message);
    }
  }
}
