import { isObject } from '../../gateway/contract/json.ts';
import type { ApiError } from '../../gateway/kube/client.ts';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import { keysOf, sameItem } from './drift.ts';

/**
 * Returns true when a patch of the pod template can be the cause of a rejection: it sets a field that the error names, or
 * removes something. Other fields come from the rest of the spec. An error that names no field is counted, too.
 */
export function isCausedByPatch({ fields }: ApiError, { spec }: KubeObject, patch: unknown): boolean {
  if (fields.length === 0 || removes(patch)) return true;
  const { template } = spec as { readonly template?: unknown };
  return fields.some((field) => isTouched(patch, template, stepsOf(field), false));
}

/** Returns true for a patch with directives, or with null, which removes a field. */
function removes(patch: unknown): boolean {
  if (patch === null) return true;
  if (typeof patch !== 'object') return false;
  return Object.entries(patch).some(([member, value]) => member.startsWith('$') || removes(value));
}

/** Splits a field such as `spec.template.spec.containers[0].image` into steps from the template. */
function stepsOf(field: string): string[] {
  const [, , ...steps] = field.split(/[.[\]]/u).filter((step) => step !== '');
  return steps[0] === 'labels' || steps[0] === 'annotations' ? ['metadata', ...steps] : steps;
}

/** @param isItem true for an item of a list, which both sides can complete */
function isTouched(patch: unknown, desired: unknown, [step, ...rest]: readonly string[], isItem: boolean): boolean {
  if (patch === undefined) return false;
  if (step === undefined || !isObject(patch) || !isObject(desired) || desired[step] === undefined) return true;
  const [part, whole] = [patch[step], desired[step]];
  if (rest.length === 0) return part !== undefined || !isItem;
  if (!Array.isArray(whole)) return isTouched(part, whole, rest, false);
  const [index, ...below] = rest;
  const keys = keysOf(step);
  if (!keys || !Array.isArray(part)) return part !== undefined;
  const item: unknown = whole[Number(index)];
  return isTouched(
    part.find((each) => sameItem(each, item, keys)),
    item,
    below,
    true,
  );
}
