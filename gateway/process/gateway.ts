import { randomBytes, randomUUID } from 'node:crypto';
import type { Writable } from 'node:stream';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { ProcessAudit } from '../audit/process-audit.ts';
import type { ClusterLink } from '../cluster/cluster-link.ts';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import type { Problem } from '../contract/problem.ts';
import { BoundaryImpossible } from '../incoming/boundary-of.ts';
import { issuerOf } from '../incoming/index.ts';
import { apiServerOf } from '../kube/api-server.ts';
import { inClusterConnection, type Connection } from '../kube/connection.ts';
import type { GroupEndpoint } from '../management/clients/registrations.ts';
import { DEFAULT_GROUP } from '../management/groups/groups.ts';
import { createFormPoster } from '../outbound/form-poster.ts';
import { readSecretFile } from '../outbound/watched-file.ts';
import type { UpstreamTokens } from '../outgoing/upstream-tokens.ts';
import { countRegisteredClients } from '../telemetry/auth-server-metrics.ts';
import { stackOf, type RootLog } from '../telemetry/log.ts';
import { RefusalLog } from '../telemetry/refusal-log.ts';
import { ServerMetrics, countSessions } from '../telemetry/server-metrics.ts';
import { createBudgets } from '../vmcp/budgets/account.ts';
import { createTransports } from '../vmcp/transport/index.ts';
import type { Launcher, LaunchState } from '../workloads/runner/runner.ts';
import { ManagementHost, type ManagementOptions } from './management-host.ts';
import { PublicServer, type ServerSpec } from './public-server.ts';
import type { PublicServerDeps } from './public-server-deps.ts';
import { backendState, WorkloadHost } from './workload-host.ts';

export type { ManagedCluster } from './management-host.ts';
export type { ServerSpec } from './public-server.ts';
export type { BackendStatus } from './workload-host.ts';

export interface GatewayOptions {
  readonly servers: readonly ServerSpec[];
  readonly management: ManagementOptions;
  /** Origins of pages that may call the MCP endpoints, beside those of the configurations. */
  readonly allowedOrigins?: readonly string[] | undefined;
  readonly log: RootLog;
  readonly version: string;
  /** Command that starts vmcp in the current folder of the user, for the pages; `vmcp` when absent. */
  readonly program?: string | undefined;
  /** Runs the backends that are processes; without a launcher such a backend is unavailable. */
  readonly launcher?: Launcher | undefined;
  /** Returns the state of an HTTP backend that local mode starts. */
  readonly launchState?: ((namespace: string, backend: string) => LaunchState | undefined) | undefined;
  /** Returns a problem for each member that local mode leaves out of a virtual server. */
  readonly leftOut?: ((namespace: string, server: string) => readonly Problem[]) | undefined;
  /** Store of users' upstream tokens, if the process has such a store. */
  readonly upstreamTokens?: UpstreamTokens | undefined;
  /** For configurations with `vmcp.cluster`. */
  readonly cluster?: ClusterOptions | undefined;
  /** Standard output, for audit logs without a file; that of the process when absent. */
  readonly stdout?: Writable | undefined;
  /** Interval of comments on idle streams, at which their tokens are checked; 30 s when absent. */
  readonly heartbeatMs?: number | undefined;
  /** Time after a stop request in which connections are still accepted, because load balancers learn of it later. */
  readonly routesMs?: number | undefined;
}

export interface ClusterOptions {
  /** Lists problems of the files that a configuration names. */
  readonly unusableFiles: (config: GatewayConfig) => Promise<Problem[]>;
  /** Connection to the API server; that of the pod when absent. */
  readonly connection?: Connection | undefined;
}

export interface RunningServer {
  readonly name: string;
  readonly namespace: string;
  readonly mcpUrl: string;
  /** Bound address and port of its listener. */
  readonly address: string;
  /** Accepted issuer; undefined in modes without an issuer. */
  readonly issuer: string | undefined;
}

const DRAIN_GRACE_MS = 30_000;

const key = ({ config }: ServerSpec): string => `${config.vmcp.namespace ?? ''}/${config.name ?? ''}`;

/** Starts everything and listens. Backend trouble never stops the start. Rejects with `ListenError`. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const gateway = new Gateway(options);
  try {
    await gateway.start();
    return gateway;
  } catch (error) {
    await gateway.stop(0);
    throw error;
  }
}

/** A gateway process: one public listener for each virtual server, one management listener. */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #running = new Map<string, PublicServer>();
  /** Servers that a swap has removed and whose calls still run. */
  readonly #stopping = new Set<Promise<void>>();
  readonly #registry = new Registry();
  readonly #metrics = new ServerMetrics(this.#registry, Date.now());
  readonly #budgets = createBudgets();
  readonly #requestIdPrefix = randomBytes(4).toString('hex');
  readonly #instanceId = randomUUID();
  readonly #createTransport: ReturnType<typeof createTransports>;
  readonly #strategies: PublicServerDeps['strategies'];
  readonly #postForm: ReturnType<typeof createFormPoster>;
  readonly #audit: ProcessAudit;
  readonly #management: ManagementHost;
  readonly #workloads: WorkloadHost | undefined;
  #connection: Connection | undefined;
  #links: readonly ClusterLink[] = [];

  constructor(options: GatewayOptions) {
    const { log, version, launcher, upstreamTokens, management } = options;
    this.#options = options;
    this.#audit = new ProcessAudit(options.stdout ?? process.stdout, log);
    const connection = () => this.#apiConnection();
    this.#createTransport = createTransports({ log, version, launcher, connection, now: Date.now });
    this.#postForm = createFormPoster(log);
    this.#strategies = { now: Date.now, log, upstreamTokens, readSecret: readSecretFile, postForm: this.#postForm };
    const servers = () => [...this.#running.values()];
    this.#workloads =
      management.api &&
      new WorkloadHost({
        ...management.api,
        log,
        version,
        startServer: (spec, own) => this.#startServer(spec, own),
        forget: (server) => {
          if (this.#running.get(key(server.spec)) === server) this.#forget(key(server.spec));
        },
        servers,
        strategies: this.#strategies,
      });
    this.#management = new ManagementHost(management, {
      log,
      version,
      registry: this.#registry,
      requestIdPrefix: this.#requestIdPrefix,
      audit: this.#audit,
      onAuditDropped: this.#metrics.auditDropped('management'),
      servers,
      endpoints: () => this.#endpoints(),
      workloads: this.#workloads,
    });
    collectDefaultMetrics({ register: this.#registry });
    countSessions(this.#registry, () => servers().map(({ virtual }) => virtual));
    countRegisteredClients(this.#registry, () => this.#running);
  }

  get servers(): readonly RunningServer[] {
    return this.#configured().map(({ virtual: { config }, mcpUrl, address }) => ({
      name: config.name ?? '',
      namespace: config.vmcp.namespace ?? '',
      mcpUrl,
      address,
      issuer: issuerOf(config),
    }));
  }

  get managementUrl(): string {
    return this.#management.url;
  }

  async start(): Promise<void> {
    process.on('unhandledRejection', this.#onUnhandled);
    const { servers } = this.#options;
    await this.#management.open();
    for (const spec of servers) await this.#startServer(spec);
    for (const spec of servers) await this.#follow(spec);
  }

  /** Applies new configurations. Sessions of remaining servers continue. Rejects with `ListenError`. */
  async swap(specs: readonly ServerSpec[]): Promise<void> {
    for (const [name, one] of [...this.#running]) {
      if (this.#workloads?.serves(one) || specs.some((spec) => key(spec) === name)) continue;
      this.#forget(name);
      const stopped = one.stop(DRAIN_GRACE_MS).finally(() => this.#stopping.delete(stopped));
      this.#stopping.add(stopped);
    }
    for (const spec of specs) {
      const present = this.#running.get(key(spec));
      if (present) await present.swap(spec.config);
      else await this.#startServer(spec);
    }
  }

  /** Probes a backend at once instead of at its next interval. */
  checkNow(backend: string): void {
    for (const { virtual } of this.#running.values()) virtual.fleet.checkNow(backend);
  }

  /** Drains: rejects new sessions, lets running calls finish within the grace period, then closes everything. */
  async stop(graceMs = DRAIN_GRACE_MS): Promise<void> {
    const { routesMs } = this.#options;
    const end = performance.now() + graceMs;
    const drained = this.#management.drain();
    const unlinked = this.#links.map((link) => link.close());
    const stopped = this.#configured().map((one) => one.stop(graceMs, routesMs));
    await Promise.all([drained, ...unlinked, ...stopped, ...(graceMs > 0 ? this.#stopping : [])]);
    await Promise.all([this.#management.close(end), this.#postForm.close()]);
    await this.#audit.close();
    process.off('unhandledRejection', this.#onUnhandled);
  }

  /** Logs an unexpected error. The process continues: ending every session would be worse. */
  readonly #onUnhandled = (reason: unknown): void => {
    this.#options.log.error('unhandled rejection', { error: stackOf(reason) });
  };

  /** Counts the backends of the virtual servers: all, those that run, and those that still start. Counts the tools that clients see now. */
  startProgress(): {
    readonly servers: number;
    readonly ready: number;
    readonly pending: number;
    readonly tools: number;
  } {
    const states = new Map<string, string>();
    let tools = 0;
    for (const server of this.#configured()) {
      const { config, views } = server.virtual;
      tools += views.shared.current.tools.size;
      for (const { name } of config.vmcp.backends)
        states.set(`${config.vmcp.namespace ?? ''}/${name}`, backendState(server, name).status);
    }
    const count = (state: string): number => [...states.values()].filter((each) => each === state).length;
    return { servers: states.size, ready: count('running'), pending: count('starting'), tools };
  }

  /** A virtual server belongs to the default group of the management API and to the group of its configuration, a workload to its group. */
  #endpoints(): GroupEndpoint[] {
    const configured = this.#configured().flatMap(({ virtual: { config }, mcpUrl: url }) =>
      [...new Set([DEFAULT_GROUP, config.group ?? DEFAULT_GROUP])].map((group) => ({
        name: config.name ?? '',
        url,
        group,
      })),
    );
    return [...configured, ...(this.#workloads?.endpoints() ?? [])];
  }

  /** Lists the servers of configurations, without those of workloads. */
  #configured(): PublicServer[] {
    return [...this.#running.values()].filter((server) => !this.#workloads?.serves(server));
  }

  #isAloneAtItsOrigin(name: string): boolean {
    const origin = this.#running.get(name)?.resourceOrigin;
    return [...this.#running].every(([other, server]) => other === name || server.resourceOrigin !== origin);
  }

  async #startServer(spec: ServerSpec, own: Partial<PublicServerDeps> = {}): Promise<PublicServer> {
    const { log, version, program, heartbeatMs, launchState, leftOut } = this.#options;
    const namespace = spec.config.vmcp.namespace;
    const server = await PublicServer.start(spec, {
      log,
      version,
      program,
      requestIdPrefix: this.#requestIdPrefix,
      allowedOrigins: this.#options.allowedOrigins,
      refusals: new RefusalLog(log.child({ server: spec.config.name })),
      ...this.#metrics.of(key(spec)),
      exportedMetrics: this.#metrics.exportOf(key(spec)),
      instanceId: this.#instanceId,
      auditOutputs: this.#audit.outputs,
      budgets: this.#budgets,
      env: (name) => process.env[name],
      apiServer: apiServerOf(process.env),
      rootAlias: () => this.#isAloneAtItsOrigin(key(spec)),
      heartbeatMs,
      createTransport: (backend, operational) => this.#createTransport(backend, operational, namespace),
      unserved: {
        launchState: (backend) => launchState?.(namespace ?? '', backend),
        leftOut: () => leftOut?.(namespace ?? '', spec.config.name ?? '') ?? [],
      },
      strategies: this.#strategies,
      ...own,
    });
    this.#running.set(key(spec), server);
    return server;
  }

  #forget(name: string): void {
    this.#running.delete(name);
    this.#metrics.forget(name);
  }

  /** Starts to read the backends of a server from the cluster, if its configuration says so. */
  async #follow(spec: ServerSpec): Promise<void> {
    const server = this.#running.get(key(spec));
    const { cluster, log } = this.#options;
    if (!spec.config.vmcp.cluster || !server) return;
    const connection = this.#apiConnection();
    const { ClusterLink: Link } = await import('../cluster/cluster-link.ts');
    const link = new Link({
      connection,
      config: spec.config,
      virtual: server.virtual,
      swap: (config) => server.swap(config),
      unusableFiles: cluster?.unusableFiles ?? (() => Promise.resolve([])),
      log: log.child({ server: spec.config.name }),
    });
    this.#links = [...this.#links, link];
    link.start();
  }

  /** Throws `BoundaryImpossible` outside of a cluster. */
  #apiConnection(): Connection {
    return (this.#connection ??= this.#options.cluster?.connection ?? podConnection());
  }
}

function podConnection(): Connection {
  try {
    return inClusterConnection(process.env);
  } catch (error) {
    throw new BoundaryImpossible(error);
  }
}
