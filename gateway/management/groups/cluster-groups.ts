import { isDeepStrictEqual } from 'node:util';
import { API_GROUP } from '../../contract/api-group.ts';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { ApiError } from '../../kube/client.ts';
import { OWN_API_VERSION, ownType, type KubeObject } from '../../kube/resource.ts';
import { unavailableOf } from '../../workloads/store/kubernetes/api-failure.ts';
import type { ClusterAccess } from '../cluster-access.ts';
import { DEFAULT_GROUP, EMPTY_GROUP, type GroupDocuments, type GroupRecord, type GroupsDocument } from './groups.ts';
import { SerialQueue } from '../../kit/tasks.ts';

const GROUP = ownType('MCPGroup');
const FIELD_MANAGER = 'vmcp-management';
/** Client types and skills of a group, separated by commas. */
const CLIENTS = `management.${API_GROUP}/registered-clients`;
const SKILLS = `management.${API_GROUP}/skills`;
/** Client types without a group, on the group `default`. */
const UNGROUPED = `management.${API_GROUP}/ungrouped-clients`;
/** Attempts while others change the same groups. */
const ATTEMPTS = 5;

type Annotations = Readonly<Record<string, string | null>>;

/**
 * Groups as MCPGroups of a namespace. Their clients and skills are annotations. `default` is listed before it exists, and
 * created on its first use.
 */
export class ClusterGroups implements GroupDocuments {
  readonly #cluster: ClusterAccess;
  readonly #changes = new SerialQueue();

  constructor(cluster: ClusterAccess) {
    this.#cluster = cluster;
  }

  async read(): Promise<GroupsDocument> {
    return documentOf(await this.#list());
  }

  update(change: (document: GroupsDocument) => GroupsDocument | Promise<GroupsDocument>): Promise<GroupsDocument> {
    return this.#changes.run(() => this.#update(change));
  }

  async #update(change: (document: GroupsDocument) => GroupsDocument | Promise<GroupsDocument>) {
    for (let attempt = 1; ; attempt += 1) {
      const objects = await this.#list();
      const before = documentOf(objects);
      const after = await change(before);
      if (after === before) return after;
      try {
        await this.#write(objects, before, after);
        return after;
      } catch (error) {
        if (!isChangedMeanwhile(error) || attempt >= ATTEMPTS) throw operationError(error);
      }
    }
  }

  async #list(): Promise<KubeObject[]> {
    const { client, namespace } = this.#cluster;
    const { items } = await client.list<KubeObject>(GROUP, { namespace }).catch((error: unknown) => {
      throw operationError(error);
    });
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  async #write(objects: readonly KubeObject[], before: GroupsDocument, after: GroupsDocument): Promise<void> {
    const { client, namespace } = this.#cluster;
    const present = new Map(objects.map((object) => [object.metadata.name, object]));
    for (const [name, annotations] of changesOf(before, after)) {
      const object = present.get(name);
      if (object) {
        const { resourceVersion } = object.metadata;
        const patch = { metadata: { annotations, ...(resourceVersion !== undefined && { resourceVersion }) } };
        await client.mergePatch(GROUP, namespace, name, patch, { fieldManager: FIELD_MANAGER });
      } else {
        const created = {
          apiVersion: OWN_API_VERSION,
          kind: GROUP.kind,
          metadata: { name, namespace, annotations: given(annotations) },
        };
        await client.create(GROUP, namespace, created, { fieldManager: FIELD_MANAGER });
      }
    }
    for (const [name, { metadata }] of present) {
      if (Object.hasOwn(after.groups, name)) continue;
      await client.delete(GROUP, namespace, name, metadata.uid === undefined ? {} : { uid: metadata.uid });
    }
  }
}

/** Returns the annotations of the groups that are new or that change, by name. */
function changesOf(before: GroupsDocument, after: GroupsDocument): Map<string, Annotations> {
  const changes = new Map<string, Annotations>();
  for (const [name, record] of Object.entries(after.groups)) {
    const isKnown = Object.hasOwn(before.groups, name);
    if (!isKnown || !isDeepStrictEqual(before.groups[name], record)) changes.set(name, annotationsOf(record));
  }
  if (!isDeepStrictEqual(before.clients, after.clients))
    changes.set(DEFAULT_GROUP, { ...changes.get(DEFAULT_GROUP), [UNGROUPED]: joined(after.clients) });
  return changes;
}

const annotationsOf = ({ registered_clients, skills }: GroupRecord): Annotations => ({
  [CLIENTS]: joined(registered_clients),
  [SKILLS]: joined(skills),
});

/** Returns null for an empty list: a patch then removes the annotation. */
const joined = (names: readonly string[]): string | null => (names.length > 0 ? names.join(',') : null);

const given = (annotations: Annotations): Record<string, string> =>
  Object.fromEntries(Object.entries(annotations).flatMap(([name, text]) => (text === null ? [] : [[name, text]])));

const annotatedNames = ({ metadata: { annotations = {} } }: KubeObject, name: string): string[] =>
  (annotations[name] ?? '').split(',').filter((item) => item !== '');

function documentOf(objects: readonly KubeObject[]): GroupsDocument {
  const records = objects.map(
    (object) =>
      [
        object.metadata.name,
        { registered_clients: annotatedNames(object, CLIENTS), skills: annotatedNames(object, SKILLS) },
      ] as const,
  );
  const fallback = objects.find(({ metadata }) => metadata.name === DEFAULT_GROUP);
  return {
    groups: { [DEFAULT_GROUP]: EMPTY_GROUP, ...Object.fromEntries(records) },
    clients: fallback ? annotatedNames(fallback, UNGROUPED) : [],
  };
}

const isChangedMeanwhile = (error: unknown): boolean => error instanceof ApiError && error.status === 409;

/** Returns the error of an operation for a failed request to the API server. */
function operationError(error: unknown): unknown {
  const unavailable = unavailableOf(error);
  if (unavailable || !(error instanceof ApiError)) return unavailable ?? error;
  return error.reason === 'Invalid' ? new OperationError('invalid_group') : error;
}
