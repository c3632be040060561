import { randomBytes } from 'node:crypto';
import type { ClusterApi, KubeManifest, Place } from '../harness/control-plane/api.ts';
import type { Manifest } from '../harness/manifests.ts';
import { eventually, PATIENCE_MS } from '../harness/poll.ts';
import type { Scope } from '../harness/scope.ts';

const VERSIONS: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
  ReplicaSet: 'apps/v1',
  Role: 'rbac.authorization.k8s.io/v1',
  RoleBinding: 'rbac.authorization.k8s.io/v1',
  PodDisruptionBudget: 'policy/v1',
  NetworkPolicy: 'networking.k8s.io/v1',
  HTTPRoute: 'gateway.networking.k8s.io/v1',
  Lease: 'coordination.k8s.io/v1',
  HorizontalPodAutoscaler: 'autoscaling/v2',
};
const CORE = /^(Namespace|Secret|ConfigMap|Service|ServiceAccount|Pod|Event|ResourceQuota)$/u;

/** Returns the API version and place of an object; a kind that is not of Kubernetes is one of ours. */
export const placeOf = (kind: string, namespace?: string, name?: string): Place => ({
  apiVersion: VERSIONS[kind] ?? (CORE.test(kind) ? 'v1' : 'vmcp.dev/v1alpha1'),
  kind,
  namespace,
  name,
});

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

/** The namespace of one test, accessed with all rights. */
export class Playground {
  readonly api: ClusterApi;
  readonly namespace: string;

  constructor(api: ClusterApi, namespace: string) {
    this.api = api;
    this.namespace = namespace;
  }

  async create(...manifests: readonly Manifest[]): Promise<void> {
    for (const manifest of manifests) {
      const metadata = { ...manifest.metadata, namespace: this.namespace };
      await this.api.create({ ...manifest, metadata });
    }
  }

  get(kind: string, name: string): Promise<KubeManifest | undefined> {
    return this.api.get(placeOf(kind, this.namespace, name));
  }

  list(kind: string): Promise<KubeManifest[]> {
    return this.api.list(placeOf(kind, this.namespace));
  }

  /** Sends a merge patch, to a subresource if there is one. */
  patch(kind: string, name: string, patch: unknown, subresource?: string): Promise<KubeManifest> {
    return this.api.patch(placeOf(kind, this.namespace, name), patch, subresource === undefined ? {} : { subresource });
  }

  remove(kind: string, name: string): Promise<void> {
    return this.api.remove(placeOf(kind, this.namespace, name));
  }

  /** Waits until an object exists and `isWanted` accepts it; returns it. */
  async appears(
    kind: string,
    name: string,
    isWanted: (object: KubeManifest) => boolean = () => true,
    timeoutMs = PATIENCE_MS,
  ): Promise<KubeManifest> {
    let last: KubeManifest | undefined;
    return eventually(
      `${kind} ${name} is as expected`,
      async () => {
        last = await this.get(kind, name);
        return last !== undefined && isWanted(last) && last;
      },
      { timeoutMs },
    ).catch((error: unknown) => {
      throw new Error(`${kind} ${name} is not as expected: ${JSON.stringify(last)}`, { cause: error });
    });
  }

  async disappears(kind: string, name: string, timeoutMs = PATIENCE_MS): Promise<void> {
    const isGone = async () => (await this.get(kind, name)) === undefined;
    await eventually(`${kind} ${name} is deleted`, isGone, { timeoutMs });
  }

  /** Waits until the operator has applied the current generation of an object. */
  async untilApplied(kind: string, name: string): Promise<void> {
    await this.appears(kind, name, (each) => at(each, 'status.observedGeneration') === each.metadata.generation);
  }

  async condition(kind: string, name: string, type: string): Promise<Condition | undefined> {
    return conditionsOf(await this.get(kind, name)).find((condition) => condition.type === type);
  }

  /** Waits until an object has a condition with these members, and returns it. */
  async becomes(
    kind: string,
    name: string,
    wanted: Partial<Condition> & { readonly type: string },
    timeoutMs = PATIENCE_MS,
  ): Promise<Condition> {
    const object = await this.appears(
      kind,
      name,
      (candidate) => {
        const { generation } = candidate.metadata;
        return conditionsOf(candidate).some(
          (condition) =>
            (condition.observedGeneration ?? generation) === generation &&
            Object.entries(wanted).every(([member, value]) => condition[member as keyof Condition] === value),
        );
      },
      timeoutMs,
    );
    return conditionsOf(object).find(({ type }) => type === wanted.type) as Condition;
  }
}

export const conditionsOf = (object: KubeManifest | undefined): readonly Condition[] =>
  (object?.['status'] as { conditions?: Condition[] } | undefined)?.conditions ?? [];

export const statusOf = (object: KubeManifest | undefined): Readonly<Record<string, unknown>> =>
  (object?.['status'] ?? {}) as Record<string, unknown>;

/** Returns the value at a dotted path; a number is an index. */
export const at = (object: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], object);

/** Creates a namespace with Pod Security `restricted`; the end of the scope deletes it. */
export async function newPlayground(scope: Scope, api: ClusterApi, prefix = 'test'): Promise<Playground> {
  const name = `${prefix}-${randomBytes(4).toString('hex')}`;
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
  scope.defer(() => api.remove(placeOf('Namespace', undefined, name)));
  return new Playground(api, name);
}
