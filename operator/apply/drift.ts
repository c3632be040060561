import { isObject } from '../../gateway/contract/json.ts';

/** Difference between the desired and the live object. */
export interface Difference {
  /** Such as `spec.template.spec.containers[mcp].image`. */
  readonly path: string;
  /** Live value; undefined when the field is missing. */
  readonly live: unknown;
}

/**
 * Merge keys of list items, by the name of the list. Other items of such a list belong to other managers.
 * @see https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
 */
const KEYS: ReadonlyMap<string, readonly string[]> = new Map([
  ['containers', ['name']],
  ['initContainers', ['name']],
  ['ephemeralContainers', ['name']],
  ['volumes', ['name']],
  ['env', ['name']],
  ['imagePullSecrets', ['name']],
  ['secrets', ['name']],
  ['claims', ['name']],
  ['resourceClaims', ['name']],
  ['volumeMounts', ['mountPath']],
  ['volumeDevices', ['devicePath']],
  ['hostAliases', ['ip']],
  ['ownerReferences', ['uid']],
  ['topologySpreadConstraints', ['topologyKey', 'whenUnsatisfiable']],
]);
/** Keys of ports: `containerPort` for containers, `port` for Services. */
const PORT_KEYS = ['containerPort', 'port', 'protocol'];
const SETS: ReadonlySet<string> = new Set(['finalizers']);
/** Selectors and rules, in which an additional key changes the meaning. The API server adds none. */
const EXACT: ReadonlySet<string> = new Set([
  'selector',
  'podSelector',
  'namespaceSelector',
  'labelSelector',
  'nodeSelector',
  'ingress',
  'rules',
]);

/**
 * Lists the fields of `desired` that differ in `live`. A field that only `live` has is a default or belongs to another
 * manager; it counts as a difference only in selectors and rules. An empty list equals a missing one.
 */
export function drift(desired: unknown, live: unknown): Difference[] {
  const found: Difference[] = [];
  compare(desired, live, '', '', found);
  return found;
}

function compare(desired: unknown, live: unknown, member: string, path: string, found: Difference[]): void {
  if (desired === undefined) return;
  if (Array.isArray(desired)) compareLists(desired, live, member, path, found);
  else if (isObject(desired)) {
    if (!isObject(live)) {
      found.push({ path, live });
      return;
    }
    for (const [name, value] of Object.entries(desired)) {
      const at = path === '' ? name : `${path}.${name}`;
      compare(value, live[name], name, at, found);
      if (EXACT.has(name)) additions(value, live[name], at, found);
    }
  } else if (desired !== live) found.push({ path, live });
}

/** Adds keys that only `live` has, at any depth. */
function additions(desired: unknown, live: unknown, path: string, found: Difference[]): void {
  if (Array.isArray(desired) && Array.isArray(live)) {
    desired.forEach((item, i) => {
      additions(item, live[i], `${path}[${String(i)}]`, found);
    });
  }
  if (!isObject(desired) || !isObject(live)) return;
  for (const [name, value] of Object.entries(live)) {
    const at = `${path}.${name}`;
    if (desired[name] !== undefined) additions(desired[name], value, at, found);
    else if (!isEmpty(value)) found.push({ path: at, live: value });
  }
}

const isEmpty = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0);

function compareLists(desired: readonly unknown[], live: unknown, member: string, path: string, found: Difference[]) {
  const items: readonly unknown[] = Array.isArray(live) ? live : [];
  if (SETS.has(member)) {
    if (desired.some((item) => !items.includes(item))) found.push({ path, live });
    return;
  }
  const keys = keysOf(member);
  if (keys) {
    for (const item of desired) {
      const match = items.find((other) => sameItem(item, other, keys));
      const at = `${path}[${identityOf(item, keys)}]`;
      if (match === undefined) found.push({ path: at, live: undefined });
      else compare(item, match, '', at, found);
    }
  } else if (desired.length !== items.length) found.push({ path, live });
  else desired.forEach((item, i) => compare(item, items[i], '', `${path}[${String(i)}]`, found));
}

/** Returns the merge keys of a list; undefined for a list that is replaced as a whole. */
export const keysOf = (list: string): readonly string[] | undefined => (list === 'ports' ? PORT_KEYS : KEYS.get(list));

/** Compares by the keys that the desired item has, since the API server fills in `protocol`. */
export const sameItem = (desired: unknown, live: unknown, keys: readonly string[]): boolean =>
  isObject(desired) && isObject(live) && keys.every((key) => desired[key] === undefined || desired[key] === live[key]);

const identityOf = (item: unknown, keys: readonly string[]): string =>
  isObject(item)
    ? keys
        .map((key) => item[key])
        .filter((value) => typeof value === 'string' || typeof value === 'number')
        .join(',')
    : '';
