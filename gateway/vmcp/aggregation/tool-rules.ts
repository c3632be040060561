import { objectMembers, withMember, wholeOf } from '../../http/json-walk.ts';
import {
  type Aggregation,
  type ToolOverride,
  combineToolRules,
  ownToolRules,
} from '../../contract/aggregation/aggregation.ts';
import type { Catalog, ListItem } from './catalog.ts';
import { portableTool } from './portability/portable-tools.ts';
import { quote, type WarningCollector } from './warnings.ts';

/** A tool after the overrides of its backend, before conflict resolution. */
export interface Tool {
  readonly backend: string;
  /** Name at the backend. */
  readonly original: string;
  /** `original`, or the name in an override. */
  readonly name: string;
  /** JSON text from the backend with overridden description and annotations. The name in it is still `original`. */
  readonly json: Buffer;
  /** True when the tool is not advertised and cannot be called by clients. */
  readonly hidden: boolean;
}

interface WorkloadRules {
  readonly excludeAll: boolean;
  readonly filter: string[];
  readonly overrides: Record<string, ToolOverride>;
}

/**
 * Returns the rules by backend. Several entries for one backend are combined: the stricter `exclude_all` and the first
 * override apply.
 */
export function rulesByWorkload(rules: Aggregation): ReadonlyMap<string, WorkloadRules> {
  const byWorkload = new Map<string, WorkloadRules>();
  for (const { workload, exclude_all, filter, overrides } of rules.tools ?? []) {
    const before = byWorkload.get(workload);
    byWorkload.set(workload, {
      excludeAll: before?.excludeAll === true || exclude_all === true,
      filter: [...(before?.filter ?? []), ...(filter ?? [])],
      overrides: { ...overrides, ...before?.overrides },
    });
  }
  return byWorkload;
}

/** Returns the tools of one backend, sorted by original name. */
export function applyToolRules(
  catalog: Catalog,
  rules: Aggregation,
  workload: WorkloadRules | undefined,
  warnings: WarningCollector,
): Tool[] {
  const { backend } = catalog;
  const { filter = [], overrides: byTool = {} } = combineToolRules(workload ?? {}, ownToolRules(rules, backend));
  const overrides = new Map(Object.entries(byTool));
  const originals = new Set(catalog.tools.map((item) => item.key));
  for (const tool of overrides.keys()) {
    if (originals.has(tool)) continue;
    warnings.add(
      'ToolOverrideUnmatched',
      backend,
      `overrides of ${quote(backend)} name tools that it does not have`,
      tool,
    );
  }
  const overridden = catalog.tools.map((item) => ({ item, override: overrides.get(item.key) }));
  const shown = filtered(backend, filter, overridden, warnings);
  const hideAll =
    rules.exclude_all_tools ||
    workload?.excludeAll === true ||
    (workload === undefined && rules.default_tool_visibility === 'deny');
  return overridden
    .map(({ item, override }) => ({
      backend,
      original: item.key,
      name: override?.name ?? item.key,
      json: overrideItem(rules.portable_schemas === true ? portableTool(item.json) : item.json, override),
      hidden: hideAll || (shown !== undefined && !shown.has(item.key)),
    }))
    .sort((left, right) => (left.original < right.original ? -1 : 1));
}

/** Returns the original names that the filter allows; undefined without a filter. */
function filtered(
  backend: string,
  filter: readonly string[],
  tools: readonly { item: ListItem; override: ToolOverride | undefined }[],
  warnings: WarningCollector,
): ReadonlySet<string> | undefined {
  if (filter.length === 0) return undefined;
  const originals = new Set(tools.map(({ item }) => item.key));
  const byNewName = Map.groupBy(tools, ({ item, override }) => override?.name ?? item.key);
  const shown = new Set<string>();
  for (const name of filter) {
    const matches = originals.has(name) ? [name] : (byNewName.get(name) ?? []).map(({ item }) => item.key);
    for (const original of matches) shown.add(original);
    if (matches.length > 0) continue;
    warnings.add(
      'ToolFilterUnmatched',
      backend,
      `the filter of ${quote(backend)} names tools that it does not have`,
      name,
    );
  }
  return shown;
}

function overrideItem(json: Buffer, { description, annotations }: Partial<ToolOverride> = {}): Buffer {
  let item = json;
  if (description !== undefined) item = withMember(item, wholeOf(item), 'description', JSON.stringify(description));
  if (annotations !== undefined)
    item = withMember(item, wholeOf(item), 'annotations', mergedAnnotations(item, annotations));
  return item;
}

/** Returns the annotations of the backend with the overridden members replaced; other bytes stay. */
function mergedAnnotations(item: Buffer, changes: NonNullable<ToolOverride['annotations']>): string {
  const present = objectMembers(item, wholeOf(item)).get('annotations');
  const isObject = present !== undefined && item[present.start] === 0x7b;
  let merged = isObject ? item.subarray(present.start, present.end) : Buffer.from('{}');
  for (const [key, value] of Object.entries(changes))
    merged = withMember(merged, wholeOf(merged), key, JSON.stringify(value));
  return merged.toString();
}
