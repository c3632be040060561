import { pathText } from '../../crds/kinds/schema/object-path.ts';
import { referenceTarget, type ReferenceTarget, isOwnKind, isConfigKind } from '../../crds/kinds/roles.ts';
import type { FieldPath } from './fields/field-path.ts';
import {
  CONSEQUENCE_REASON,
  type ObjectProblem,
  type ObjectScope,
  type Platform,
  type Report,
  reportInto,
} from './scope.ts';
import { objectsOf, type Resource, type Snapshot } from './snapshot.ts';
import { hasOwnGateway } from './fields/controls.ts';

/** Reference from a field to another object of the namespace. */
export interface Reference {
  readonly path: string;
  readonly target: ReferenceTarget;
  readonly name: string;
  /** Key within a Secret or ConfigMap; absent when the whole object is meant. */
  readonly key?: string;
  readonly optional: boolean;
  /** Mode in which the field has an effect; both when absent. */
  readonly only?: Platform['mode'];
}

/** Reason of a warning about an object that is not in the files of a cluster. */
export const EXPECTED_IN_CLUSTER = 'ExpectedInCluster';

/** Free-form fields, in which nothing is a reference. */
const FREE_FORM: ReadonlySet<string> = new Set([
  'podTemplateSpec',
  'resourceOverrides',
  'compositeTools',
  'metadata',
  'overrides',
  'toolsOverride',
]);
const DEFAULT_CA_KEY = 'ca.crt';

/** Lists the references of an object in the order of its fields. */
export const references = (object: Resource): Reference[] => collect(object.spec, ['spec']);

function collect(node: unknown, path: FieldPath): Reference[] {
  if (typeof node !== 'object' || node === null) return [];
  if (Array.isArray(node)) return node.flatMap((item, index) => collect(item, [...path, index]));
  const isByName = isMapOfBackends(path);
  return Object.entries(node).flatMap(([member, value]) => {
    const here = [...path, member];
    if (isByName) return collect(value, here);
    if (FREE_FORM.has(member)) return [];
    if (member === 'permissionProfile') return profileReference(value, here);
    const target = referenceTarget(member);
    if (!target) return collect(value, here);
    if (Array.isArray(value)) return value.flatMap((item, index) => reference(item, [...here, index], target));
    return reference(value, here, target);
  });
}

/** Returns true for the map whose keys are names of backends, not fields: one may be named `metadata` or `secrets`. */
const isMapOfBackends = (path: FieldPath): boolean =>
  path.length === 3 && pathText(path) === 'spec.outgoingAuth.backends';

/** A built-in profile is no object. The operator ignores profiles. */
const profileReference = (value: unknown, path: FieldPath): Reference[] =>
  (value as { type?: unknown }).type === 'configmap'
    ? reference(value, path, 'ConfigMap').map((found) => ({ ...found, only: 'local' }))
    : [];

function reference(value: unknown, path: FieldPath, target: ReferenceTarget): Reference[] {
  if (typeof value !== 'object' || value === null) return [];
  const { name, key, optional } = value as { name?: unknown; key?: unknown; optional?: unknown };
  if (typeof name !== 'string' || name === '') return [];
  const inBundle = target === 'ConfigMap' && path.at(-2) === 'caBundleRef';
  const keyName = typeof key === 'string' && key !== '' ? key : inBundle ? DEFAULT_CA_KEY : undefined;
  return [
    {
      path: pathText(path),
      target,
      name,
      optional: optional === true,
      ...(keyName !== undefined && (target === 'Secret' || target === 'ConfigMap') && { key: keyName }),
    },
  ];
}

type World = Pick<ObjectScope, 'snapshot' | 'platform'>;

/** Reports references to missing objects and keys. `isSelected` limits the check to some paths. */
export function checkReferences(
  object: Resource,
  world: World,
  report: Report,
  isSelected: (path: string) => boolean = () => true,
): void {
  for (const reference of references(object)) if (isSelected(reference.path)) checkReference(reference, world, report);
}

/** Returns the reason of a dangling reference: `SecretNotFound`, `GroupRefNotFound`. */
const notFoundReason = (target: ReferenceTarget): string =>
  isOwnKind(target) ? `${target.replace(/^MCP/u, '')}RefNotFound` : `${target}NotFound`;

function checkReference(reference: Reference, world: World, report: Report): void {
  const { path, target, name, key, optional, only } = reference;
  const { snapshot, platform } = world;
  if (only !== undefined && only !== platform.mode) return;
  if (snapshot.broken.has(`${target}/${name}`)) {
    const message = `${target} "${name}" is invalid: correct its own problems first`;
    report.problem(CONSEQUENCE_REASON, `${path}.name`, message);
    return;
  }
  if (optional) return;
  const keys = keysOf(target, name, snapshot);
  const beside = supply(reference, world);
  if (!keys && platform.hasMoreData === true && (target === 'Secret' || target === 'ConfigMap')) {
    const message = `expects ${target} "${name}"${key === undefined ? '' : ` with key "${key}"`} in namespace ${snapshot.namespace}: it is not in these files`;
    report.warning(EXPECTED_IN_CLUSTER, `${path}.name`, message);
  } else if (!keys) {
    const message = `${target} "${name}" does not exist (${alternatives(target, world)}): create it or correct the name${beside}`;
    report.problem(notFoundReason(target), `${path}.name`, message);
  } else if (key !== undefined && !keys.includes(key)) {
    const there = keys.length > 0 ? `it has ${keys.join(', ')}` : 'it is empty';
    report.problem(
      `${target}KeyNotFound`,
      `${path}.key`,
      `${target} "${name}" has no key "${key}" (${there}): add it or correct the key${beside}`,
    );
  } else if (target === 'MCPGroup' && snapshot.groups.get(name)?.metadata.deletionTimestamp !== undefined) {
    const message = `MCPGroup "${name}" is being deleted: refer to another group, or create it again after its deletion`;
    report.problem('GroupRefNotReady', `${path}.name`, message);
  }
}

/** Returns the other ways to supply the value of a Secret in local mode; '' where there is none. */
function supply({ path, target, name, key = 'KEY' }: Reference, { platform }: World): string {
  if (platform.mode !== 'local' || target !== 'Secret') return '';
  const { secretsOption } = platform;
  const file = `${secretsOption ?? 'DIR'}/${name}/${key}`;
  const option = secretsOption === undefined ? ' and use --secrets-dir DIR' : ', which --secrets-dir reads';
  const variable = isVariable(path) ? ', or replace this entry by spec.env[].fromEnv' : '';
  return `, or create the file ${file}${option}${variable}`;
}

/** Returns true for a Secret that sets an environment variable of an MCPServer. */
const isVariable = (path: string): boolean => /^spec\.secrets\[/u.test(path);

/** Lists the existing names, or in a cluster only the namespace: a condition must not change with every object. */
function alternatives(target: ReferenceTarget, { snapshot, platform }: World): string {
  const known = platform.mode === 'local' ? namesOf(target, snapshot) : [];
  if (known.length > 0) return `known: ${known.join(', ')}`;
  return platform.mode === 'local'
    ? `none exist in namespace ${snapshot.namespace}`
    : `searched namespace ${snapshot.namespace}`;
}

/** Returns the keys of an object, empty for kinds without keys; undefined when the object does not exist. */
function keysOf(target: ReferenceTarget, name: string, snapshot: Snapshot): readonly string[] | undefined {
  if (target === 'Secret') return snapshot.secrets.get(name)?.keys;
  const data = snapshot.configMaps.get(name)?.data;
  if (target === 'ConfigMap') return data && Object.keys(data).toSorted();
  return namesOf(target, snapshot).includes(name) ? [] : undefined;
}

function namesOf(target: ReferenceTarget, snapshot: Snapshot): string[] {
  if (target === 'Secret') return [...snapshot.secrets.keys()];
  if (target === 'ConfigMap') return [...snapshot.configMaps.keys()];
  return objectsOf(snapshot, target).map(({ metadata }) => metadata.name);
}

/** Warns about objects that no virtual server uses. The caller keeps only those that are defined in the files. */
export function unusedObjects(snapshot: Snapshot): ObjectProblem[] {
  const found: ObjectProblem[] = [];
  const resources = objectsOf(snapshot);
  const named = new Set(
    resources.flatMap((object) => references(object).map(({ target, name }) => `${target}/${name}`)),
  );
  const texts = new Set(resources.flatMap(({ spec }) => textsOf(spec)));
  const warn = (kind: string, name: string, path: string, message: string): void => {
    reportInto({ kind, namespace: snapshot.namespace, name }, [], found).warning('NotUsed', path, message);
  };
  for (const [name, server] of snapshot.servers) {
    const message = hasOwnGateway(server)
      ? 'the server is in no group, so only a cluster serves it, at its own address: set spec.groupRef.name to use it here'
      : 'the server is in no group, so no virtual server serves it: set spec.groupRef.name';
    if (!server.spec.groupRef) warn('MCPServer', name, 'spec', message);
  }
  const served = new Set([...snapshot.vmcps.values()].map(({ spec }) => spec.groupRef.name));
  for (const name of snapshot.groups.keys()) {
    const message = 'no VirtualMCPServer serves this group: set its spec.groupRef.name, or remove the group';
    if (!served.has(name)) warn('MCPGroup', name, 'metadata.name', message);
  }
  const idle = 'nothing refers to this object: correct the reference to it, or remove it';
  for (const { kind, metadata } of resources.filter((resource) => isConfigKind(resource.kind))) {
    if (!named.has(`${kind}/${metadata.name}`)) warn(kind, metadata.name, 'metadata.name', idle);
  }
  // Free-form fields, such as podTemplateSpec, can name these too.
  for (const name of snapshot.secrets.keys()) if (!texts.has(name)) warn('Secret', name, 'metadata.name', idle);
  for (const name of snapshot.configMaps.keys()) if (!texts.has(name)) warn('ConfigMap', name, 'metadata.name', idle);
  return found;
}

/** Lists the texts in a value, at any depth. */
export function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}
