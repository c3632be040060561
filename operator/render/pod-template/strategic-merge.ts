import { DELETE_PRIMITIVES, ELEMENT_ORDER, identity, isDirective, PATCH, RETAIN_KEYS } from './check.ts';
import { ALTERNATIVES, POD_TEMPLATE_TYPES, type FieldType } from './types.ts';
import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';

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
