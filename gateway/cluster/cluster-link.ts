import { durationMs } from '../contract/fields.ts';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import type { Problem } from '../contract/problem.ts';
import { KubeClient } from '../kube/client.ts';
import type { Connection } from '../kube/connection.ts';
import { afterTimeout } from '../kit/time.ts';
import { statusReport } from '../vmcp/status.ts';
import type { VirtualServer } from '../vmcp/virtual-server.ts';
import { Backends, type ClusterConfig } from './backends.ts';
import { StatusReporter } from './status-reporter.ts';
import type { Logger } from '../contract/logger.ts';

export interface ClusterLinkOptions {
  readonly connection: Connection;
  /** With `vmcp.cluster` and `vmcp.namespace`. */
  readonly config: GatewayConfig;
  readonly virtual: VirtualServer;
  /** Swaps the configuration of `virtual`. */
  readonly swap: (config: GatewayConfig) => Promise<void>;
  readonly unusableFiles: (config: GatewayConfig) => Promise<Problem[]>;
  readonly log: Logger;
}

/** Connects a gateway to its cluster: reads backends from it and reports their status to it. */
export class ClusterLink {
  readonly #client: KubeClient;
  readonly #backends: Backends;
  readonly #reporter: StatusReporter;

  constructor({ connection, config, virtual, swap, unusableFiles, log }: ClusterLinkOptions) {
    const base = clusterConfig(config);
    const { namespace, cluster } = base.vmcp;
    const common = { log, now: () => performance.now(), random: Math.random, after: afterTimeout };
    this.#client = new KubeClient(connection, { userAgent: 'vmcp-gateway' });
    this.#reporter = new StatusReporter({
      ...common,
      client: this.#client,
      namespace,
      name: cluster.virtual_mcp_server,
      intervalMs: durationMs(cluster.reporting_interval),
      report: () => statusReport(virtual),
      isProbed: () => virtual.fleet.settled,
      isWell: () => Object.values(virtual.fleet.health().backends).every(({ status }) => status === 'healthy'),
    });
    this.#backends = new Backends({
      ...common,
      client: this.#client,
      base,
      unusableFiles,
      take: swap,
      onJudged: (problems) => {
        virtual.configurationProblems = problems;
        this.#reporter.start();
      },
    });
  }

  start(): void {
    this.#backends.start();
  }

  /** Keeps the current configuration and stops reporting. */
  async close(): Promise<void> {
    await Promise.all([this.#backends.close(), this.#reporter.close(), this.#client.close()]);
  }
}

function clusterConfig(config: GatewayConfig): ClusterConfig {
  const { namespace, cluster } = config.vmcp;
  if (namespace === undefined || !cluster) throw new Error('a configuration without vmcp.cluster and vmcp.namespace');
  return { ...config, vmcp: { ...config.vmcp, namespace, cluster } };
}
