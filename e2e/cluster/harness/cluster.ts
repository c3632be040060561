import { join } from 'node:path';
import { stringify } from 'yaml';
import { clusterBinary } from '../../harness/control-plane/binaries.ts';
import { eventually } from '../../harness/poll.ts';
import type { Scope } from '../../harness/scope.ts';
import { root } from '../../harness/vmcp.ts';
import { attempt, run, type CommandOptions } from './command.ts';
import type { PlatformName, Reach } from './platform.ts';

/** The parts of an object that scenarios read. */
export interface ClusterObject {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly [member: string]: unknown;
  };
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export const OPERATOR_NAMESPACE = 'vmcp-system';
/** Label of a namespace that sets its level of Pod Security. */
const ENFORCE = 'pod-security.kubernetes.io/enforce';
/** The image of `e2e/cluster/backend/serve.ts`. */
export const backendImage = (version: string): string => `localhost/vmcp-e2e-backend:${version}`;

/** Returns the environment with which `main.ts` passes the cluster to the scenarios. */
export const environmentOf = (platform: PlatformName, { kubeconfig, hostAddress, nodeAddress }: Reach) => ({
  KUBECONFIG: kubeconfig,
  E2E_CLUSTER: platform,
  E2E_HOST_ADDRESS: hostAddress,
  E2E_NODE_ADDRESS: nodeAddress,
});

/** Connects to the running cluster. @throws Error outside of `make e2e` */
export function connectCluster(): Cluster {
  const need = (name: string): string => {
    const value = process.env[name];
    if (value === undefined) throw new Error(`${name} is not set: these tests are run by make e2e`);
    return value;
  };
  return new Cluster({
    kubeconfig: need('KUBECONFIG'),
    hostAddress: need('E2E_HOST_ADDRESS'),
    nodeAddress: need('E2E_NODE_ADDRESS'),
  });
}

/** A Kubernetes cluster with a node, with the rights of its administrator. */
export class Cluster {
  readonly reach: Reach;

  constructor(reach: Reach) {
    this.reach = reach;
  }

  get #env(): Record<string, string> {
    return { KUBECONFIG: this.reach.kubeconfig };
  }

  /** Runs kubectl and returns its stdout. @throws Error with its output when it fails */
  kubectl(args: readonly string[], options: CommandOptions = {}): Promise<string> {
    return run(clusterBinary('kubectl') ?? 'kubectl', args, { ...options, env: { ...this.#env, ...options.env } });
  }

  helm(args: readonly string[], options: CommandOptions = {}): Promise<string> {
    return run(clusterBinary('helm') ?? 'helm', args, { timeoutMs: 300_000, ...options, env: this.#env });
  }

  /** Installs or upgrades both charts and waits until the operator is ready. */
  async installCharts(values: readonly string[] = []): Promise<void> {
    const sets = values.flatMap((value) => ['--set', value]);
    const place = ['--namespace', OPERATOR_NAMESPACE, '--create-namespace'];
    const upgrade = ['upgrade', '--install'];
    await this.helm([...upgrade, 'vmcp-crds', join(root, 'charts', 'vmcp-crds'), ...place]);
    await this.helm([...upgrade, 'vmcp', join(root, 'charts', 'vmcp'), ...place, ...sets, '--wait', '--timeout', '3m']);
  }

  /** Applies YAML text, or objects. */
  async apply(namespace: string, manifests: string | readonly object[]): Promise<void> {
    const input =
      typeof manifests === 'string' ? manifests : manifests.map((object) => stringify(object)).join('---\n');
    await this.kubectl(['--namespace', namespace, 'apply', '-f', '-'], { input });
  }

  /** Returns undefined when there is no such object. */
  async get(namespace: string, kind: string, name: string): Promise<ClusterObject | undefined> {
    const text = await this.kubectl(['--namespace', namespace, 'get', kind, name, '--ignore-not-found', '-o', 'json']);
    return text === '' ? undefined : (JSON.parse(text) as ClusterObject);
  }

  /** Waits for a condition of an object, which may not exist yet. @throws Error with the last conditions */
  async condition(
    namespace: string,
    kind: string,
    name: string,
    wanted: { readonly type: string; readonly status?: string; readonly reason?: string; readonly timeoutMs?: number },
  ): Promise<Condition> {
    const { type, status = 'True', reason, timeoutMs = 120_000 } = wanted;
    return eventually(
      `${kind}/${name}: ${type}=${status}${reason === undefined ? '' : ` (${reason})`}`,
      async () => {
        const conditions = (await this.get(namespace, kind, name))?.status?.conditions ?? [];
        const found = conditions.find((each) => each.type === type);
        if (found?.status === status && (reason === undefined || found.reason === reason)) return found;
        throw new Error(JSON.stringify(conditions));
      },
      { timeoutMs, intervalMs: 500 },
    );
  }

  /** Returns `http://IP:PORT` of a Service, which this machine can reach like a pod. */
  async serviceUrl(namespace: string, name: string): Promise<string> {
    const service = await eventually(`service ${name}`, () => this.get(namespace, 'service', name));
    const { clusterIP, ports } = service.spec as { clusterIP: string; ports: readonly [{ port: number }] };
    return `http://${clusterIP}:${ports[0].port}`;
  }

  /** Creates a namespace with Pod Security `restricted`. The end of the scope deletes it and does not wait: see `namespacesDeleted`. */
  async namespace(scope: Scope, name: string): Promise<string> {
    const labels = { [ENFORCE]: 'restricted' };
    scope.defer(() => this.kubectl(['delete', 'namespace', name, '--ignore-not-found', '--wait=false']));
    await this.apply('default', [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }]);
    return name;
  }

  /** Waits until the namespaces of ended scenarios are gone. @throws Error when an object keeps one */
  async namespacesDeleted(): Promise<void> {
    const args = ['wait', '--for=delete', 'namespace', '--selector', `${ENFORCE}=restricted`, '--timeout=120s'];
    await this.kubectl(args, { timeoutMs: 130_000 });
  }

  /** Returns objects, events and the log of the operator, to diagnose a failure. */
  async explain(namespace: string): Promise<string> {
    const asked = [
      ['--namespace', namespace, 'get', 'mcp,pods,deployments,statefulsets'],
      ['--namespace', namespace, 'get', 'events', '--sort-by=.lastTimestamp'],
      ['--namespace', OPERATOR_NAMESPACE, 'logs', 'deployment/vmcp-operator', '--tail=50'],
    ];
    const env = this.#env;
    const answers = await Promise.all(
      asked.map((args) => attempt(clusterBinary('kubectl') ?? 'kubectl', args, { env })),
    );
    return answers.map(({ stdout, stderr }) => stdout + stderr).join('\n');
  }
}
