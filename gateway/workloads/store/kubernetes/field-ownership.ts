import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../../contract/json.ts';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { FIELD_MANAGER, type DesiredWorkload, type WorkloadObject } from './workload-object.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Returns the names below a path of the object that the management API has applied before. */
function appliedNames(
  { metadata: { managedFields = [] } }: WorkloadObject,
  path: readonly string[],
): ReadonlySet<string> {
  const own = managedFields.filter(
    ({ manager, operation, subresource = '' }) =>
      manager === FIELD_MANAGER && operation === 'Apply' && subresource === '',
  );
  const names = own.flatMap(({ fieldsV1 = {} }) => {
    const fields = path.reduce<unknown>((node, name) => (isObject(node) ? node[name] : undefined), fieldsV1);
    return isObject(fields) ? Object.keys(fields) : [];
  });
  return new Set(names.map((name) => name.replace(/^f:/u, '')));
}

/**
 * Returns the fields of the spec to apply: those that change, and those that we have applied before, which the API server
 * would else remove. All others stay with their owners.
 */
export const fieldsToApply = (object: WorkloadObject, before: DesiredWorkload, after: DesiredWorkload): Fields =>
  toApply(appliedNames(object, ['f:spec']), { ...before.spec }, { ...after.spec });

/** Returns the annotations to apply, by the same rule. */
export const annotationsToApply = (
  object: WorkloadObject,
  { annotations: before = {} }: DesiredWorkload,
  { annotations: after = {} }: DesiredWorkload,
): Readonly<Record<string, string>> => toApply(appliedNames(object, ['f:metadata', 'f:annotations']), before, after);

const toApply = <Value>(
  applied: ReadonlySet<string>,
  before: Readonly<Record<string, Value>>,
  after: Readonly<Record<string, Value>>,
): Record<string, Value> =>
  Object.fromEntries(
    Object.entries(after).filter(([name, value]) => applied.has(name) || !isDeepStrictEqual(before[name], value)),
  );

/** Lists the members that an apply did not change as desired, because others have set parts of them. */
export function keptByOthers(desired: RunConfig, result: RunConfig): string[] {
  const members = new Set([...Object.keys(desired), ...Object.keys(result)]) as Set<keyof RunConfig>;
  return [...members].filter((member) => !isDeepStrictEqual(desired[member], result[member]));
}
