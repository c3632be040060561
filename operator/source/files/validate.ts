import { KINDS } from '../../../crds/kinds/index.ts';
import { validateObject, withDefaults, type Target } from '../../../crds/kinds/validate.ts';
import { API_GROUP } from '../../../gateway/contract/api-group.ts';
import type { Resource } from '../../resolve/snapshot.ts';
import { closest } from './closest.ts';
import type { LocatedProblem } from './located.ts';
import type { ManifestObject } from './manifest-object.ts';
import { isPlainKind, PLAIN_KIND_NAMES, readKeyedData, type KeyedData } from './plain-kinds.ts';

const PLAIN_API = 'v1';
const OWN_NAMES: readonly string[] = KINDS.map(({ kind }) => kind);
/** File that kustomize reads. Its `kind` may be absent. */
const KUSTOMIZATION = /(^|\/)kustomization\.ya?ml$/u;

/** Result of the validation of an object. */
export type Verdict =
  | { readonly is: 'resource'; readonly resource: Resource }
  | { readonly is: 'data'; readonly data: KeyedData }
  /** Object of another kind, which vmcp does not read. With a warning where it may be meant as an object of vmcp. */
  | { readonly is: 'other'; readonly warning?: LocatedProblem }
  | { readonly is: 'refused'; readonly problems: readonly LocatedProblem[] };

/** Validates an object like the API server: by kind, schema and rules. For a cluster, objects of other kinds may be beside ours. */
export function validate(object: ManifestObject, target: Target = 'local'): Verdict {
  if (target === 'cluster' && isOther(object)) return { is: 'other', ...warningOf(object) };
  const kindProblem = checkKind(object);
  if (kindProblem) return { is: 'refused', problems: [kindProblem] };
  if (isPlainKind(object.kind)) {
    const data = readKeyedData(object, target);
    return data.problems.length > 0 ? { is: 'refused', problems: data.problems } : { is: 'data', data };
  }
  const problems = validateObject(object.kind, object.value, target);
  if (problems.length > 0) {
    return {
      is: 'refused',
      problems: problems.map(({ reason, path, message }) => object.problem(reason, path, message)),
    };
  }
  return { is: 'resource', resource: withDefaults(object.kind, object.value, target) as Resource };
}

/** Returns true for an object of another API group, and for a document that is no object of Kubernetes. */
function isOther({ apiVersion, kind, value }: ManifestObject): boolean {
  if (OWN_NAMES.includes(kind) || apiVersion?.startsWith(`${API_GROUP}/`) === true || apiVersion === API_GROUP)
    return false;
  if (isPlainKind(kind)) return apiVersion?.includes('/') === true;
  return apiVersion !== undefined || value['kind'] === undefined || closest(kind, OWN_NAMES) === undefined;
}

/** Warns of a document that no Kubernetes tool can apply, unless kustomize reads it. */
function warningOf(object: ManifestObject): { warning?: LocatedProblem } {
  const missing = ['kind', 'apiVersion'].find((member) => typeof object.value[member] !== 'string');
  if (missing === undefined || KUSTOMIZATION.test(object.locate('').file)) return {};
  return {
    warning: object.problem('NotChecked', missing, `there is no ${missing}, so this is no resource: nothing checks it`),
  };
}

/** Returns the problem of an object with an unknown kind, or with a wrong apiVersion of a Secret or ConfigMap. */
function checkKind(object: ManifestObject): LocatedProblem | undefined {
  const names = [...OWN_NAMES, ...PLAIN_KIND_NAMES];
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
