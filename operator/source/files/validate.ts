import { KINDS } from '../../../crds/kinds/index.ts';
import { validateObject, withDefaults, type Target } from '../../../crds/kinds/validate.ts';
import { API_GROUP } from '../../../gateway/contract/api-group.ts';
import type { Resource } from '../../resolve/snapshot.ts';
import { closest } from './closest.ts';
import type { ManifestObject } from './manifest-object.ts';
import type { LocatedProblem } from './located.ts';
import { childPath } from '../../resolve/fields/field-path.ts';
import { isObject } from '../../../gateway/contract/json.ts';

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
export function validateManifest(object: ManifestObject, target: Target = 'local'): Verdict {
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

/** Data of a Secret or ConfigMap by key, and its problems. No message quotes a value. */
interface KeyedData {
  readonly values: ReadonlyMap<string, Uint8Array>;
  readonly problems: readonly LocatedProblem[];
}

type Decode = (text: string) => Uint8Array | undefined;

const KEY = /^[-._a-zA-Z0-9]{1,253}$/u;
const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/u;

const decodeText: Decode = (text) => Buffer.from(text, 'utf8');
const decodeBase64: Decode = (text) => {
  const compact = text.replace(/\s/gu, '');
  return BASE64.test(compact) ? Buffer.from(compact, 'base64') : undefined;
};

/** Fields that hold the data of each kind. A later field takes precedence over an earlier field. */
const PLAIN_KINDS: Readonly<Record<string, Readonly<Record<string, Decode>>>> = {
  Secret: { data: decodeBase64, stringData: decodeText },
  ConfigMap: { data: decodeText, binaryData: decodeBase64 },
};
const OTHER_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  Secret: ['apiVersion', 'kind', 'metadata', 'type', 'immutable'],
  ConfigMap: ['apiVersion', 'kind', 'metadata', 'immutable'],
};

export const isPlainKind = (kind: string): boolean => Object.hasOwn(PLAIN_KINDS, kind);
const PLAIN_KIND_NAMES: readonly string[] = Object.keys(PLAIN_KINDS);

/** Member that SOPS adds to a file whose values it has encrypted. A cluster gets the file without it. */
const ENCRYPTED = 'sops';

/** Reads the data of a Secret or ConfigMap like the API server. Files of a cluster may be encrypted by SOPS. */
function readKeyedData(object: ManifestObject, target: Target = 'local'): KeyedData {
  const isEncrypted = target === 'cluster' && isObject(object.value[ENCRYPTED]);
  const members = PLAIN_KINDS[object.kind] ?? {};
  const known = [...(OTHER_MEMBERS[object.kind] ?? []), ...Object.keys(members), ...(isEncrypted ? [ENCRYPTED] : [])];
  const problems = Object.keys(object.value)
    .filter((member) => !known.includes(member))
    .map((member) =>
      object.problem('UnknownField', childPath('', member), `no such field; there is ${known.join(', ')}`),
    );
  if (!NAME.test(object.name) || object.name.length > 253) {
    problems.push(
      object.problem('InvalidName', 'metadata.name', 'set a name of lowercase letters, digits, "-" and "."'),
    );
  }
  const values = new Map<string, Uint8Array>();
  for (const [member, decode] of Object.entries(members))
    readMember(object, member, isEncrypted ? decodeText : decode, values, problems);
  return { values, problems };
}

function readMember(
  object: ManifestObject,
  member: string,
  decode: Decode,
  values: Map<string, Uint8Array>,
  problems: LocatedProblem[],
): void {
  const data = object.value[member];
  if (data === undefined || data === null) return;
  if (!isObject(data)) {
    problems.push(object.problem('InvalidType', member, 'must be a map of key to text'));
    return;
  }
  for (const [key, value] of Object.entries(data)) {
    const path = childPath(member, key);
    const bytes = typeof value === 'string' ? decode(value) : undefined;
    if (!KEY.test(key) || /^\.\.?$/u.test(key)) {
      problems.push(object.problem('InvalidName', path, 'a key is 1 to 253 letters, digits, "-", "_" or "."'));
    } else if (typeof value !== 'string') {
      problems.push(object.problem('InvalidType', path, 'must be a text: put the value in quotes'));
    } else if (bytes === undefined) {
      problems.push(object.problem('InvalidValue', path, 'not base64: encode the value, or move it to stringData'));
    } else values.set(key, bytes);
  }
}
