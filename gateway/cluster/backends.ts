import { isDeepStrictEqual } from 'node:util';
import { DISCOVERED_BACKENDS_KEY } from '../contract/discovered-backends.ts';
import type { Cluster, GatewayConfig } from '../contract/gateway-config.ts';
import type { Problem } from '../contract/problem.ts';
import type { KubeClient } from '../kube/client.ts';
import { Reflector } from '../kube/reflector.ts';
import { RESOURCES, type KubeObject } from '../kube/resource.ts';
import { withDiscoveredBackends } from '../read-gateway-config.ts';
import { stackOf } from '../telemetry/log.ts';
import type { After } from '../kit/time.ts';
import type { Logger } from '../contract/logger.ts';
import { SerialQueue } from '../kit/tasks.ts';

/** Configuration whose backends come from the cluster. */
export interface ClusterConfig extends GatewayConfig {
  readonly vmcp: GatewayConfig['vmcp'] & { readonly cluster: Cluster; readonly namespace: string };
}

export interface BackendsOptions {
  readonly client: KubeClient;
  /** Configuration without backends. */
  readonly base: ClusterConfig;
  /** Lists problems of the files that a configuration names. */
  readonly unusableFiles: (config: GatewayConfig) => Promise<Problem[]>;
  /** Applies a configuration. Rejects with the reason, and then keeps the current one. */
  readonly take: (config: GatewayConfig) => Promise<void>;
  /** Receives the problems of the newest document after each check; none when it is in use. */
  readonly onJudged: (problems: readonly Problem[]) => void;
  readonly log: Logger;
  readonly now: () => number;
  readonly random: () => number;
  readonly after: After;
}

type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> };

/** Pause before a retry: a missing file or key store may be available then. */
const RETRY_MS = 5_000;

/** Watches the ConfigMap that lists the backends. An unusable document leaves the last valid one in use. */
export class Backends {
  readonly #options: BackendsOptions;
  readonly #reflector: Reflector<ConfigMap>;
  /** Checks run one at a time, for the newest document only. */
  readonly #judging = new SerialQueue();
  #newest: ConfigMap | undefined;
  #inUse: string | undefined;
  #problems: readonly Problem[] = [];
  #cancelRetry: () => void = () => undefined;
  #closed = false;

  constructor(options: BackendsOptions) {
    const { client, base, log, now, random } = options;
    const { namespace, cluster } = base.vmcp;
    this.#options = options;
    this.#reflector = new Reflector<ConfigMap>({
      client,
      type: RESOURCES.ConfigMap,
      namespace,
      fieldSelector: `metadata.name=${cluster.backends_config_map}`,
      onChange: (_previous, current) => {
        this.#take(current);
      },
      log,
      now,
      random,
    });
  }

  start(): void {
    this.#reflector.start();
    void this.#reflector.synced.then(() => {
      if (this.#newest === undefined) this.#take(undefined);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelRetry();
    await this.#reflector.close();
    await this.#judging.ended();
  }

  #take(document: ConfigMap | undefined): void {
    this.#newest = document;
    this.#judging
      .run(async () => {
        if (this.#closed || document !== this.#newest) return;
        this.#cancelRetry();
        await this.#judge(document);
      })
      .catch((error: unknown) => {
        this.#options.log.error('backends not judged', { error: stackOf(error) });
      });
  }

  async #judge(document: ConfigMap | undefined): Promise<void> {
    const text = document?.data?.[DISCOVERED_BACKENDS_KEY];
    if (text === undefined) {
      this.#refused([this.#absent(document)]);
      return;
    }
    if (text === this.#inUse) {
      this.#told([]);
      return;
    }
    const read = withDiscoveredBackends(this.#options.base, text);
    if ('problems' in read) {
      this.#refused(read.problems);
      return;
    }
    const problems = await this.#put(read.config);
    if (problems.length > 0) {
      this.#refused(problems);
      this.#cancelRetry = this.#options.after(RETRY_MS, () => {
        if (document === this.#newest) this.#take(document);
      });
      return;
    }
    this.#inUse = text;
    const { resourceVersion } = document?.metadata ?? {};
    this.#options.log.info('backends taken', { backends: read.config.vmcp.backends.length, resourceVersion });
    this.#told([]);
  }

  /** Lists the reasons why a configuration is not in use; empty when it is. */
  async #put(config: GatewayConfig): Promise<Problem[]> {
    try {
      const unusable = await this.#options.unusableFiles(config);
      if (unusable.length === 0 && !this.#closed) await this.#options.take(config);
      return unusable;
    } catch (error) {
      const message = `the new backends cannot be put to use: ${error instanceof Error ? error.message : String(error)}`;
      return [{ reason: 'ConfigurationNotTaken', path: 'vmcp.backends', message }];
    }
  }

  #absent(document: ConfigMap | undefined): Problem {
    const { backends_config_map: name } = this.#options.base.vmcp.cluster;
    const what = document ? `has no key "${DISCOVERED_BACKENDS_KEY}"` : 'does not exist';
    const message = `ConfigMap "${name}" ${what}: the operator writes it, so look why it does not`;
    return { reason: 'BackendsNotFound', path: 'vmcp.cluster.backends_config_map', message };
  }

  #refused(problems: readonly Problem[]): void {
    if (!isDeepStrictEqual(problems, this.#problems)) {
      const stays = this.#inUse === undefined ? 'nothing is served yet' : 'the last good backends stay';
      this.#options.log.warn('backends not taken', { problems, stays });
    }
    this.#told(problems);
  }

  #told(problems: readonly Problem[]): void {
    this.#problems = problems;
    this.#options.onJudged(problems);
  }
}
