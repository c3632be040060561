import type { Target } from '../../../crds/kinds/validate.ts';
import { childPath } from '../../resolve/fields/field-path.ts';
import type { ManifestObject } from './manifest-object.ts';
import type { LocatedProblem } from './located.ts';
import { isObject } from '../../../gateway/contract/json.ts';

/** Data of a Secret or ConfigMap by key, and its problems. No message quotes a value. */
export interface KeyedData {
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

/** Fields that hold the data of each kind. A later field takes precedence over an earlier one. */
const PLAIN_KINDS: Readonly<Record<string, Readonly<Record<string, Decode>>>> = {
  Secret: { data: decodeBase64, stringData: decodeText },
  ConfigMap: { data: decodeText, binaryData: decodeBase64 },
};
const OTHER_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  Secret: ['apiVersion', 'kind', 'metadata', 'type', 'immutable'],
  ConfigMap: ['apiVersion', 'kind', 'metadata', 'immutable'],
};

export const isPlainKind = (kind: string): boolean => Object.hasOwn(PLAIN_KINDS, kind);
export const PLAIN_KIND_NAMES: readonly string[] = Object.keys(PLAIN_KINDS);

/** Member that SOPS adds to a file whose values it has encrypted. A cluster gets the file without it. */
const ENCRYPTED = 'sops';

/** Reads the data of a Secret or ConfigMap like the API server. Files of a cluster may be encrypted by SOPS. */
export function readKeyedData(object: ManifestObject, target: Target = 'local'): KeyedData {
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
