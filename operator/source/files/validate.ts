import { KINDS } from '../../../crds/kinds/index.ts';
import { validateObject, withDefaults } from '../../../crds/kinds/validate.ts';
import type { Resource } from '../../resolve/snapshot.ts';
import { closest } from './closest.ts';
import type { LocatedProblem } from './located.ts';
import type { ManifestObject } from './manifest-object.ts';
import { isPlainKind, PLAIN_KIND_NAMES, readKeyedData, type KeyedData } from './plain-kinds.ts';

const PLAIN_API = 'v1';

/** Result of the validation of an object. */
export type Verdict =
  | { readonly is: 'resource'; readonly resource: Resource }
  | { readonly is: 'data'; readonly data: KeyedData }
  | { readonly is: 'refused'; readonly problems: readonly LocatedProblem[] };

/** Validates an object like the API server: by kind, schema and rules. */
export function validate(object: ManifestObject): Verdict {
  const kindProblem = checkKind(object);
  if (kindProblem) return { is: 'refused', problems: [kindProblem] };
  if (isPlainKind(object.kind)) {
    const data = readKeyedData(object);
    return data.problems.length > 0 ? { is: 'refused', problems: data.problems } : { is: 'data', data };
  }
  const problems = validateObject(object.kind, object.value);
  if (problems.length > 0) {
    return {
      is: 'refused',
      problems: problems.map(({ reason, path, message }) => object.problem(reason, path, message)),
    };
  }
  return { is: 'resource', resource: withDefaults(object.kind, object.value) as Resource };
}

/** Returns the problem of an object with an unknown kind, or with a wrong apiVersion of a Secret or ConfigMap. */
function checkKind(object: ManifestObject): LocatedProblem | undefined {
  const names = [...KINDS.map(({ kind }) => kind), ...PLAIN_KIND_NAMES];
  if (typeof object.value['kind'] !== 'string') {
    return object.problem('MissingField', 'kind', `set kind to one of ${names.join(', ')}`);
  }
  if (!names.includes(object.kind)) {
    const similar = closest(object.kind, names);
    const advice = similar === undefined ? `the kinds are ${names.join(', ')}` : `did you mean ${similar}?`;
    return object.problem('UnknownKind', 'kind', `unknown kind "${object.kind}": ${advice}`);
  }
  if (!isPlainKind(object.kind) || object.apiVersion === PLAIN_API) return undefined;
  return object.apiVersion === undefined
    ? object.problem('MissingField', 'apiVersion', `set apiVersion: ${PLAIN_API}`)
    : object.problem('InvalidValue', 'apiVersion', `must be ${PLAIN_API}`);
}
