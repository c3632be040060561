import { isMemberKind } from '../../../crds/kinds/roles.ts';
import type { Target } from '../../../crds/kinds/validate.ts';
import {
  newSnapshot,
  compareText,
  type BrokenObject,
  type Resource,
  type SecretMeta,
  type ConfigMapData,
  type Snapshot,
} from '../../resolve/snapshot.ts';
import type { ObjectRef } from '../../resolve/scope.ts';
import { annotatedHosts } from '../../resolve/backends/release.ts';
import { isClientFile } from '../clients/client-file.ts';
import { parseDocuments } from './document.ts';
import {
  secretValues,
  valueKey,
  type SecretValues,
  openSecretsDir,
  type SecretsDir,
  findHostVariables,
  type ServerVariables,
  type VariableReader,
} from './host-variables.ts';
import { findFiles, readText } from './find-files.ts';
import { validateManifest, type Verdict } from './validate.ts';
import { groupNameOf, isManifestObject, manifestObjects, type ManifestObject } from './manifest-object.ts';
import { fileProblem, type LocatedProblem, type Position } from './located.ts';
import { isObject } from '../../../gateway/contract/json.ts';

export const MAX_OBJECTS = 10_000;

/** Objects of files and folders. */
export interface Manifests {
  /** Files that were read, sorted. */
  readonly files: readonly string[];
  /** Every object, including rejected ones, in the order of files and lines. */
  readonly objects: readonly ManifestObject[];
  /** One snapshot for each namespace with an accepted object. */
  readonly snapshots: ReadonlyMap<string, Snapshot>;
  readonly secretValues: SecretValues;
  /** Problems of files and of single objects. `resolve` finds problems between objects. */
  readonly problems: readonly LocatedProblem[];
  readonly warnings: readonly LocatedProblem[];
  /** Returns the position of a field, or of its longest existing prefix. Undefined for an object that is in no file. */
  locate(object: ObjectRef, path: string): Position | undefined;
}

export interface LoadOptions {
  /** Folder with additional Secrets for every namespace, as `<secret>/<key>`. */
  readonly secretsDir?: string;
  /** `cluster` for files of a cluster, among which objects of other kinds are passed over; `local` when absent. */
  readonly target?: Target;
  /** Environment of this process, for host variables; empty when absent. No cluster has them. */
  readonly hostEnv?: Readonly<Record<string, string | undefined>>;
}

interface Validated {
  readonly object: ManifestObject;
  readonly verdict: Verdict;
}

/** Reads and validates manifests. Never throws because of their contents: every mistake is in `problems`. */
export async function loadManifests(paths: readonly string[], options: LoadOptions = {}): Promise<Manifests> {
  const dir = options.secretsDir === undefined ? undefined : await openSecretsDir(options.secretsDir);
  const { files, objects, problems } = await readAll(paths);
  const { target = 'local' } = options;
  const all = objects.map((object) => ({ object, verdict: validateManifest(object, target) }));
  const validated = all.filter(({ verdict }) => verdict.is !== 'other');
  const passedOver = all.flatMap(({ verdict }) => (verdict.is === 'other' && verdict.warning ? verdict.warning : []));
  const { unique, duplicates } = splitDuplicates(validated);
  const refused = validated.flatMap(({ verdict }) => (verdict.is === 'refused' ? verdict.problems : []));
  const readers = target === 'local' ? unique.flatMap(variableReader) : [];
  const host = await findHostVariables(readers, paths, options.hostEnv ?? {});
  return {
    files,
    objects,
    snapshots: snapshotsOf(unique, dir, host.servers),
    secretValues: valuesOf(unique, dir, host.servers),
    problems: [...problems, ...(dir?.problems ?? []), ...host.problems, ...duplicates, ...refused],
    warnings: [...passedOver, ...host.warnings],
    locate: locator(unique),
  };
}

interface Read {
  readonly files: readonly string[];
  readonly objects: ManifestObject[];
  readonly problems: LocatedProblem[];
}

async function readAll(paths: readonly string[]): Promise<Read> {
  const { files, problems: missing } = await findFiles(paths);
  const objects: ManifestObject[] = [];
  const problems = [...missing];
  for (const file of files) {
    const read = await readObjects(file);
    objects.push(...read.objects);
    problems.push(...read.problems);
    if (objects.length <= MAX_OBJECTS) continue;
    const message = `more than ${String(MAX_OBJECTS)} objects: name fewer files, or run several gateways`;
    return { files, objects: [], problems: [...problems, fileProblem(file, 'TooManyObjects', message)] };
  }
  if (objects.length === 0 && problems.length === 0) {
    const message = 'no objects found: name files that contain resources';
    problems.push(fileProblem(paths[0] ?? '.', 'NoManifests', message));
  }
  return { files, objects, problems };
}

async function readObjects(file: string): Promise<{ objects: ManifestObject[]; problems: LocatedProblem[] }> {
  const text = await readText(file);
  if ('reason' in text) return { objects: [], problems: [fileProblem(file, text.reason, text.message)] };
  const { documents, problems } = parseDocuments(file, text.text);
  const all = documents.flatMap((document) => manifestObjects(document));
  const objects = all.filter(isManifestObject);
  const isWrong =
    problems.length > 0 || all.some((read) => !isManifestObject(read) || read.value['kind'] === undefined);
  if (isWrong && isClientFile(text.text)) {
    const message = `this is the configuration of a client: vmcp import ${file} makes resources of it`;
    return { objects: [], problems: [fileProblem(file, 'MissingField', message)] };
  }
  return { objects, problems: [...problems, ...all.filter((read): read is LocatedProblem => !isManifestObject(read))] };
}

const keyOf = ({ kind, namespace, name }: ObjectRef): string => JSON.stringify([kind, namespace, name]);

/** Keeps the first of several objects with equal kind, namespace and name, and reports a problem for each other one. */
function splitDuplicates(validated: readonly Validated[]): { unique: Validated[]; duplicates: LocatedProblem[] } {
  const firsts = new Map<string, Validated>();
  const duplicates: LocatedProblem[] = [];
  for (const each of validated) {
    const { object } = each;
    const first = firsts.get(keyOf(object));
    if (!first) firsts.set(keyOf(object), each);
    else if (typeof (object.value['metadata'] as { name?: unknown } | undefined)?.name === 'string') {
      const { file, line } = first.object.locate('metadata.name');
      const message = `${object.kind} "${object.name}" of namespace "${object.namespace}" is already defined in ${file}:${String(line)}: rename or remove one`;
      duplicates.push(object.problem('DuplicateObject', 'metadata.name', message));
    }
  }
  return { unique: [...firsts.values()], duplicates };
}

function locator(validated: readonly Validated[]): Manifests['locate'] {
  const objects = new Map(validated.map(({ object }) => [keyOf(object), object]));
  return (ref, path) => objects.get(keyOf(ref))?.locate(path);
}

/** Returns the host variables that a valid MCPServer reads. */
function variableReader({ object, verdict }: Validated): VariableReader[] {
  if (verdict.is !== 'resource' || verdict.resource.kind !== 'MCPServer') return [];
  const variables = (verdict.resource.spec.env ?? []).flatMap(({ fromEnv }) => fromEnv ?? []);
  const { file } = object.locate('metadata.name');
  return variables.length === 0 ? [] : [{ namespace: object.namespace, server: object.name, file, variables }];
}

function snapshotsOf(
  validated: readonly Validated[],
  dir: SecretsDir | undefined,
  host: readonly ServerVariables[],
): ReadonlyMap<string, Snapshot> {
  const namespaces = [...new Set(validated.map(({ object }) => object.namespace))].toSorted(compareText);
  return new Map(
    namespaces.map((namespace) => {
      const here = validated.filter(({ object }) => object.namespace === namespace);
      const hostVariables = host
        .filter((variables) => variables.namespace === namespace)
        .map(({ server, names, envFile }) => ({ server, names, envFile }));
      return [namespace, newSnapshot(namespace, { ...contentsOf(here), secrets: secretsOf(here, dir), hostVariables })];
    }),
  );
}

function contentsOf(validated: readonly Validated[]): {
  resources: Resource[];
  configMaps: ConfigMapData[];
  broken: BrokenObject[];
} {
  const resources = validated.flatMap(({ verdict }) => (verdict.is === 'resource' ? verdict.resource : []));
  const broken = validated.filter(({ verdict }) => verdict.is === 'refused').map(({ object }) => brokenObject(object));
  const configMaps = validated.flatMap(({ object, verdict }) => {
    if (verdict.is !== 'data' || object.kind !== 'ConfigMap') return [];
    const data = [...verdict.data.values].map(([key, bytes]) => [key, Buffer.from(bytes).toString('utf8')] as const);
    return { name: object.name, data: Object.fromEntries(data) };
  });
  return { resources, configMaps, broken };
}

function brokenObject(object: ManifestObject): BrokenObject {
  const { kind, name } = object;
  const group = isMemberKind(kind) ? groupNameOf(object) : undefined;
  return { kind, name, ...(group !== undefined && { group }) };
}

function secretsOf(validated: readonly Validated[], dir: SecretsDir | undefined): SecretMeta[] {
  const keys = new Map<string, Set<string>>([...(dir?.keys ?? [])].map(([name, names]) => [name, new Set(names)]));
  const hosts = new Map<string, readonly string[]>();
  for (const { object, verdict } of validated) {
    if (verdict.is !== 'data' || object.kind !== 'Secret') continue;
    keys.set(object.name, new Set([...(keys.get(object.name) ?? []), ...verdict.data.values.keys()]));
    const { metadata } = object.value;
    hosts.set(object.name, annotatedHosts(isObject(metadata) ? metadata['annotations'] : undefined));
  }
  return [...keys].map(([name, names]) => {
    const allowedHosts = hosts.get(name) ?? [];
    return { name, keys: [...names].toSorted(compareText), ...(allowedHosts.length > 0 && { allowedHosts }) };
  });
}

function valuesOf(
  validated: readonly Validated[],
  dir: SecretsDir | undefined,
  host: readonly ServerVariables[],
): SecretValues {
  const values = new Map<string, Uint8Array>();
  for (const { object, verdict } of validated) {
    if (verdict.is !== 'data' || (object.kind !== 'Secret' && object.kind !== 'ConfigMap')) continue;
    for (const [key, bytes] of verdict.data.values)
      values.set(valueKey({ kind: object.kind, namespace: object.namespace, name: object.name, key }), bytes);
  }
  for (const { namespace, server, values: variables } of host) {
    for (const [key, value] of variables)
      values.set(valueKey({ kind: 'HostVariable', namespace, name: server, key }), Buffer.from(value));
  }
  return secretValues(values, dir);
}
