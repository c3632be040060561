import type { Problem } from '../../../contract/problem.ts';
import { ApiError } from '../../../kube/api-error.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { OWN_API_VERSION, ownType, RESOURCES, type KubeObject } from '../../../kube/resource.ts';
import { MANAGED_SECRET } from '../../server-run-config.ts';
import { refusalOf } from './api-failure.ts';
import { DEFAULT_GROUP, managedKeys } from './desired-workload.ts';
import { FIELD_MANAGER, type DesiredWorkload } from './workload-object.ts';

const GROUP = ownType('MCPGroup');

interface SecretObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** Objects that a workload refers to. */
export class Surroundings {
  readonly #client: KubeClient;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Throws `invalid_workload` unless the group and the secrets of a workload exist. Creates the group `default`. */
  async require(desired: DesiredWorkload, namespace: string): Promise<void> {
    const problems = [
      ...(await this.#groupProblems(desired.spec.groupRef?.name ?? DEFAULT_GROUP, namespace)),
      ...(await this.#secretProblems(desired, namespace)),
    ];
    if (problems.length > 0) throw refusalOf(problems);
  }

  async #groupProblems(name: string, namespace: string): Promise<Problem[]> {
    const group = await this.#client.get(GROUP, namespace, name, { metadataOnly: true });
    if (group && group.metadata.deletionTimestamp === undefined) return [];
    if (name === DEFAULT_GROUP && !group) {
      await createGroup(this.#client, namespace, name);
      return [];
    }
    const message = `there is no group "${name}": GET /api/v1beta/groups lists them`;
    return [{ reason: 'GroupRefNotFound', path: 'group', message }];
  }

  async #secretProblems(desired: DesiredWorkload, namespace: string): Promise<Problem[]> {
    const keys = managedKeys(desired);
    if (keys.length === 0) return [];
    const secret = await this.#client.get<SecretObject>(RESOURCES.Secret, namespace, MANAGED_SECRET);
    const present = new Set(Object.keys(secret?.data ?? {}));
    return keys
      .filter(({ key }) => !present.has(key))
      .map(({ key, path }) => ({
        reason: 'SecretNotFound',
        path,
        message: `there is no secret "${key}": create it with POST /api/v1beta/secrets/default/keys`,
      }));
  }
}

/** Creates an MCPGroup unless it exists. */
async function createGroup(client: KubeClient, namespace: string, name: string): Promise<void> {
  const group = { apiVersion: OWN_API_VERSION, kind: GROUP.kind, metadata: { name, namespace } };
  try {
    await client.create(GROUP, namespace, group, { fieldManager: FIELD_MANAGER });
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== 'AlreadyExists') throw error;
  }
}
