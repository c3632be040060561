import { pathText, type Steps } from '../../../crds/kinds/schema/object-path.ts';
import type { ObjectProblem, ObjectRef } from '../../resolve/scope.ts';
import { compareText } from '../../resolve/snapshot.ts';
import {
  patchFaults,
  type TemplateFault,
  DELETE_PRIMITIVES,
  ELEMENT_ORDER,
  identity,
  isDirective,
  PATCH,
  RETAIN_KEYS,
  quantityText,
} from './check.ts';
import { templateFaults } from './consistency.ts';
import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import { ALTERNATIVES, POD_TEMPLATE_TYPES, type FieldType, type ObjectType } from './types.ts';

const PATH: Steps = ['spec', 'podTemplateSpec'];
const INVALID_POD_TEMPLATE = 'InvalidPodTemplateSpec';

/** Parts of the template that a user's patch must keep. */
interface Protected {
  readonly selector: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Names of containers. */
  readonly containers: readonly string[];
}

/** Applies the user's patch and returns the template as the API server returns it, or the problems of the patch. */
export function patchTemplate(
  template: JsonObject,
  patch: object | undefined,
  kept: Protected,
  object: ObjectRef,
): { readonly template: JsonObject } | { readonly problems: ObjectProblem[] } {
  if (patch === undefined) return { template: canonicalTemplate(template) };
  const faults = patchFaults(patch);
  const merged = faults.length === 0 ? strategicMerge(template, { ...patch }) : {};
  const all = faults.length === 0 ? [...lossFaults(merged, kept), ...addedFaults(template, merged)] : faults;
  return all.length === 0 ? { template: canonicalTemplate(merged) } : { problems: problemsOf(all, object) };
}

/** Lists the problems of a patch that do not depend on the template, for a workload that is not rendered. */
export const patchProblems = (patch: object | undefined, object: ObjectRef): ObjectProblem[] =>
  patch === undefined ? [] : problemsOf(patchFaults(patch), object);

function problemsOf(faults: readonly TemplateFault[], object: ObjectRef): ObjectProblem[] {
  const problems = faults.map(({ steps, message }) => ({
    ...object,
    path: pathText([...PATH, ...steps]),
    reason: INVALID_POD_TEMPLATE,
    message,
  }));
  return problems.toSorted((a, b) => compareText(a.path, b.path));
}

/** Lists contradictions that the template does not have without the patch. */
function addedFaults(template: JsonObject, merged: JsonObject): TemplateFault[] {
  const own = new Set(templateFaults(template).map(({ message }) => message));
  return templateFaults(merged).filter(({ message }) => !own.has(message));
}

function lossFaults({ metadata, spec }: JsonObject, kept: Protected): TemplateFault[] {
  const pod = isObject(spec) ? spec : {};
  return [
    ...changed(metadata, 'labels', kept.selector, 'it selects the pods'),
    ...changed(metadata, 'annotations', kept.annotations, 'the operator sets it'),
    ...kept.containers.filter((name) => !containerNames(pod).includes(name)).map(containerLost),
    ...('serviceAccount' in pod
      ? [{ steps: ['spec', 'serviceAccount'], message: 'is deprecated: use serviceAccountName' }]
      : []),
  ];
}

function changed(
  metadata: unknown,
  member: string,
  kept: Readonly<Record<string, string>>,
  why: string,
): TemplateFault[] {
  const held = isObject(metadata) && isObject(metadata[member]) ? metadata[member] : {};
  return Object.entries(kept)
    .filter(([name, value]) => held[name] !== value)
    .map(([name]) => ({
      steps: ['metadata', member, name],
      message: `cannot be changed or removed, ${why}: remove it from the patch`,
    }));
}

const containerNames = ({ containers }: JsonObject): unknown[] =>
  Array.isArray(containers) ? containers.map((each: unknown) => (isObject(each) ? each['name'] : undefined)) : [];

const containerLost = (name: string): TemplateFault => ({
  steps: ['spec', 'containers'],
  message: `container "${name}" cannot be removed: correct the patch`,
});

/**
 * Applies a strategic merge patch without faults to a pod template. New items of a merged list follow the existing ones,
 * unless `$setElementOrder` sets another order.
 */
export const strategicMerge = (template: JsonObject, patch: JsonObject): JsonObject =>
  mergeObject(template, patch, 'PodTemplateSpec') ?? {};

/** Returns the merged value; undefined when the patch deletes it. */
function mergeValue(base: unknown, patch: unknown, type: FieldType): unknown {
  if (patch === null) return undefined;
  if (type.list) return mergeList(listOf(base), listOf(patch), type);
  return isObject(patch) ? mergeObject(isObject(base) ? base : {}, patch, type.name) : patch;
}

function mergeObject(base: JsonObject, patch: JsonObject, typeName: string): JsonObject | undefined {
  const { [PATCH]: strategy, [RETAIN_KEYS]: retained, ...members } = patch;
  if (strategy === 'delete') return undefined;
  const fields = POD_TEMPLATE_TYPES.get(typeName);
  const merged = new Map(strategy === 'replace' ? [] : Object.entries(base));
  if (Array.isArray(retained)) for (const name of merged.keys()) if (!retained.includes(name)) merged.delete(name);
  dropAlternatives(merged, members, typeName);
  for (const [name, content] of Object.entries(members)) {
    if (name.startsWith('$')) continue;
    const value = mergeValue(merged.get(name), content, fields?.get(name) ?? { name: 'text', list: false, keys: [] });
    if (value === undefined) merged.delete(name);
    else merged.set(name, value);
  }
  for (const [name, content] of Object.entries(members)) directList(merged, name, listOf(content), fields);
  return Object.fromEntries(merged);
}

/** Removes alternatives of the patched members: a volume that becomes a ConfigMap loses its emptyDir. */
function dropAlternatives(merged: Map<string, unknown>, patch: JsonObject, typeName: string): void {
  const alternatives = ALTERNATIVES.get(typeName) ?? [];
  const chosen = alternatives.filter((member) => (patch[member] ?? null) !== null);
  if (chosen.length === 0) return;
  for (const member of alternatives) if (!chosen.includes(member)) merged.delete(member);
}

function directList(
  merged: Map<string, unknown>,
  directive: string,
  named: readonly unknown[],
  fields: ReadonlyMap<string, FieldType> | undefined,
): void {
  const prefix = [DELETE_PRIMITIVES, ELEMENT_ORDER].find((each) => directive.startsWith(each));
  if (prefix === undefined) return;
  const name = directive.slice(prefix.length);
  const list = merged.get(name);
  if (!Array.isArray(list)) return;
  if (prefix === DELETE_PRIMITIVES) {
    merged.set(
      name,
      list.filter((item) => !named.includes(item)),
    );
    return;
  }
  const keys = fields?.get(name)?.keys ?? [];
  const order = named.map((item) => identity(item, keys));
  const place = (item: unknown): number => order.indexOf(identity(item, keys));
  merged.set(name, reorder(list, place));
}

/** Sorts the items that have a place among their own positions. The other items stay where they are. */
function reorder(list: readonly unknown[], place: (item: unknown) => number): unknown[] {
  const placed = list.filter((item) => place(item) >= 0).toSorted((a, b) => place(a) - place(b));
  return list.map((item) => (place(item) < 0 ? item : placed.shift()));
}

function mergeList(base: readonly unknown[], patch: readonly unknown[], type: FieldType): readonly unknown[] {
  const items = patch.filter((item) => !isDirective(item));
  const replaces = items.length < patch.length;
  if (type.keys.length === 0)
    return items.flatMap((item) => mergeValue(undefined, item, { ...type, list: false }) ?? []);
  const merged = new Map((replaces ? [] : base).map((item) => [identity(item, type.keys), item]));
  for (const item of items) {
    const id = identity(item, type.keys);
    const value = mergeValue(merged.get(id), item, { ...type, list: false });
    if (value === undefined) merged.delete(id);
    else merged.set(id, value);
  }
  return [...merged.values()];
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/**
 * Returns a pod template as the API server returns it: quantities in canonical form, empty members removed, but without
 * its defaults. Otherwise the template would differ from the object in the cluster for ever.
 */
export const canonicalTemplate = (template: JsonObject): JsonObject => object(template, typesOf('PodTemplateSpec'));

const typesOf = (name: string): ObjectType => POD_TEMPLATE_TYPES.get(name) ?? new Map<string, FieldType>();

function object(value: JsonObject, fields: ObjectType): JsonObject {
  const entries = Object.entries(value).flatMap(([name, content]) => {
    const type = fields.get(name);
    const canonical = type ? member(content, type) : content;
    return canonical === undefined ? [] : [[name, canonical] as const];
  });
  return Object.fromEntries(entries);
}

/** Returns a member in canonical form; undefined when the API server removes it. */
function member(value: unknown, type: FieldType): unknown {
  if (Array.isArray(value)) {
    return value.length === 0 ? undefined : value.map((item: unknown) => listItem(item, type.name));
  }
  const fields = POD_TEMPLATE_TYPES.get(type.name);
  if (fields && isObject(value)) return object(value, fields);
  switch (type.name) {
    case 'string':
      return value === '' ? undefined : value;
    case 'flag':
      return value === false ? undefined : value;
    case 'count':
      return value === 0 ? undefined : value;
    case 'quantity':
      return quantityText(value);
    case 'map':
      return isObject(value) && Object.keys(value).length === 0 ? undefined : value;
    case 'quantities':
      return isObject(value) ? quantities(value) : value;
    default:
      return value;
  }
}

const listItem = (item: unknown, type: string): unknown => (isObject(item) ? object(item, typesOf(type)) : item);

function quantities(value: JsonObject): JsonObject | undefined {
  const entries = Object.entries(value).map(([name, quantity]) => [name, quantityText(quantity)] as const);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
