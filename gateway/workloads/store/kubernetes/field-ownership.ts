import { isDeepStrictEqual } from 'node:util';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { FIELD_MANAGER, type DesiredWorkload, type WorkloadObject } from './workload-object.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Returns the fields of the spec that the management API has applied before. */
function appliedFields({ metadata: { managedFields = [] } }: WorkloadObject): ReadonlySet<string> {
  const own = managedFields.filter(
    ({ manager, operation, subresource = '' }) =>
      manager === FIELD_MANAGER && operation === 'Apply' && subresource === '',
  );
  const names = own.flatMap(({ fieldsV1 }) => Object.keys(fieldsV1?.['f:spec'] ?? {}));
  return new Set(names.map((name) => name.replace(/^f:/u, '')));
}

/**
 * Returns the fields to apply: those that change, and those that we have applied before, which the API server would else
 * remove. All others stay with their owners.
 */
export function fieldsToApply(
  object: WorkloadObject,
  { spec: before }: DesiredWorkload,
  { spec: after }: DesiredWorkload,
): Fields {
  const applied = appliedFields(object);
  const old: Fields = { ...before };
  return Object.fromEntries(
    Object.entries(after).filter(([name, value]) => applied.has(name) || !isDeepStrictEqual(old[name], value)),
  );
}

/** Lists the members that an apply did not change as desired, because others have set parts of them. */
export function keptByOthers(desired: RunConfig, result: RunConfig): string[] {
  const members = new Set([...Object.keys(desired), ...Object.keys(result)]) as Set<keyof RunConfig>;
  return [...members].filter((member) => !isDeepStrictEqual(desired[member], result[member]));
}
