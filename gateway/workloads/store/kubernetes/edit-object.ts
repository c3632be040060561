import { isDeepStrictEqual } from 'node:util';
import { type RunConfig, SCHEMA_VERSION } from '../../../contract/run-config/run-config.ts';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import { ApiError, type KubeClient } from '../../../kube/client.ts';
import { ownType } from '../../../kube/resource.ts';
import { desiredWorkload } from './desired-workload.ts';
import type { Surroundings } from './surroundings.ts';
import {
  FIELD_MANAGER,
  manifestOf,
  type DesiredWorkload,
  type WorkloadObject,
  type EntryObject,
} from './workload-object.ts';
import { isObject } from '../../../contract/json.ts';
import { descriptionOf } from './description.ts';
import { secretName, serverRunConfig } from '../../server-run-config.ts';

/** Returns the run configuration of a workload, for export. It has no secret values. */
export const runConfigOfObject = (object: WorkloadObject): RunConfig => ({
  ...(object.kind === 'MCPServer' ? serverRunConfig(object) : entryRunConfig(object)),
  ...descriptionOf(object.metadata.annotations),
});

function entryRunConfig({ metadata: { name }, spec }: EntryObject): RunConfig {
  const { addPlaintextHeaders: plain = {}, addHeadersFromSecret: secret = [] } = spec.headerForward ?? {};
  const fromSecrets = secret.map(({ headerName, valueSecretRef }) => [headerName, secretName(valueSecretRef)] as const);
  return {
    schema_version: SCHEMA_VERSION,
    name,
    remote_url: spec.remoteUrl,
    transport: spec.transport,
    proxy_mode: spec.transport,
    group: spec.groupRef.name,
    ...((Object.keys(plain).length > 0 || fromSecrets.length > 0) && {
      header_forward: {
        ...(Object.keys(plain).length > 0 && { add_plaintext_headers: { ...plain } }),
        ...(fromSecrets.length > 0 && { add_headers_from_secret: Object.fromEntries(fromSecrets) }),
      },
    }),
  };
}

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

export interface ObjectEdit {
  /** Returns the new run configuration. */
  readonly change: (stored: RunConfig) => RunConfig;
  readonly client: KubeClient;
  readonly surroundings: Surroundings;
  readonly signal: AbortSignal;
}

/** Attempts while only the status or the metadata of the object change. */
const ATTEMPTS = 5;

/**
 * Applies a change to the fields that it concerns, and returns the result. Throws `changed_meanwhile` when the spec has
 * changed since it was read, or when others own a field that must change.
 */
export async function editObject(read: WorkloadObject, edit: ObjectEdit): Promise<WorkloadObject> {
  let object = read;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await applyOnce(object, edit);
    } catch (error) {
      if (!isStale(error) || attempt >= ATTEMPTS) throw error;
      const { namespace, name, uid, generation } = object.metadata;
      const now = await edit.client.get<WorkloadObject>(ownType(object.kind), namespace, name);
      if (now?.metadata.uid !== uid || now?.metadata.generation !== generation) throw error;
      object = now as WorkloadObject;
    }
  }
}

async function applyOnce(object: WorkloadObject, { change, client, surroundings, signal }: ObjectEdit) {
  const stored = runConfigOfObject(object);
  const before = desiredWorkload(stored, object);
  const after = desiredWorkload(change(stored), object);
  if (isDeepStrictEqual(before, after)) return object;
  const { namespace, name, resourceVersion } = object.metadata;
  await surroundings.require(after, namespace);
  const annotations = annotationsToApply(object, before, after);
  const metadata = {
    ...{ name, namespace, annotations },
    ...(resourceVersion !== undefined && { resourceVersion }),
  };
  const manifest = manifestOf(object.kind, metadata, fieldsToApply(object, before, after));
  const options = { fieldManager: FIELD_MANAGER, force: false, signal };
  rejectLosses(object, after, await client.apply<WorkloadObject>(manifest, { ...options, dryRun: true }));
  return client.apply<WorkloadObject>(manifest, options);
}

/** Throws `changed_meanwhile` for a result that lacks a part of the change: others have set the same field. */
function rejectLosses({ metadata, ...object }: WorkloadObject, after: DesiredWorkload, result: WorkloadObject): void {
  const { spec, annotations = {} } = after;
  const desired = runConfigOfObject({ ...object, spec, metadata: { ...metadata, annotations } } as WorkloadObject);
  const kept = keptByOthers(desired, runConfigOfObject(result));
  if (kept.length === 0) return;
  const message = `another program has set ${kept.join(', ')}, and only that program can remove its part: change it there`;
  throw new OperationError('changed_meanwhile', message);
}

/** Returns true when the object has another resourceVersion than the one that was read. */
const isStale = (error: unknown): boolean =>
  error instanceof ApiError && error.reason === 'Conflict' && !error.message.startsWith('Apply failed');
