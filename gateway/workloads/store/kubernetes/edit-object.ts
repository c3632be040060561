import { isDeepStrictEqual } from 'node:util';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import { ApiError, type KubeClient } from '../../../kube/client.ts';
import { ownType } from '../../../kube/resource.ts';
import { desiredWorkload } from './desired-workload.ts';
import { annotationsToApply, fieldsToApply, keptByOthers } from './field-ownership.ts';
import { runConfigOfObject } from './run-config-of-object.ts';
import type { Surroundings } from './surroundings.ts';
import { FIELD_MANAGER, manifestOf, type DesiredWorkload, type WorkloadObject } from './workload-object.ts';

export interface Edit {
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
export async function editObject(read: WorkloadObject, edit: Edit): Promise<WorkloadObject> {
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

async function applyOnce(object: WorkloadObject, { change, client, surroundings, signal }: Edit) {
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
