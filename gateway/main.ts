import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import type { RequestHandler } from 'express';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { createManagementApp } from './app.ts';
import { ProcessAudit } from './audit/process-audit.ts';
import type { ClusterLink } from './cluster/cluster-link.ts';
import type { GatewayConfig } from './contract/gateway-config.ts';
import type { Problem } from './contract/problem.ts';
import type { AuditConfig } from './contract/run-config/audit.ts';
import { isLoopback } from './http/origin-guard.ts';
import { apiServerOf } from './kube/api-server.ts';
import type { Boundary } from './incoming/boundary.ts';
import { BoundaryImpossible } from './incoming/boundary-of.ts';
import type { KubeClient } from './kube/client.ts';
import { inClusterConnection, type Connection } from './kube/connection.ts';
import { issuerOf } from './incoming/index.ts';
import { finishRequests } from './drain.ts';
import { listen, type Listener } from './listener.ts';
import type { GroupEndpoint } from './management/clients/registrations.ts';
import { DEFAULT_GROUP } from './management/groups/groups.ts';
import { createManagementApi, type ManagementApiOptions } from './management/management-api.ts';
import { connectWithSdk } from './management/secrets/one-password-sdk.ts';
import { osKeyring } from './management/secrets/password.ts';
import { explainedServer } from './explained-server.ts';
import { createFormPoster } from './outbound/form-poster.ts';
import { readSecretFile } from './outbound/watched-file.ts';
import type { UpstreamTokens } from './outgoing/upstream-tokens.ts';
import { openCluster, type ManagedCluster } from './managed-cluster.ts';
import { managementOrigins } from './origins-of.ts';
import { PublicServer, type ServerSpec } from './public-server.ts';
import { auditFault, type PublicServerDeps } from './public-server-parts.ts';
import { countRegisteredClients } from './telemetry/auth-server-metrics.ts';
import { countSessions } from './telemetry/session-count.ts';
import { RefusalLog } from './telemetry/refusal-log.ts';
import { ServerMetrics } from './telemetry/server-metrics.ts';
import { createBudgets } from './vmcp/budgets/account.ts';
import { createTransports } from './vmcp/transport/index.ts';
import type { VirtualServer } from './vmcp/virtual-server.ts';
import { openPortBook } from './workloads/runner/ports.ts';
import { statusOf } from './workloads/definition/status.ts';
import type { WorkloadServices } from './workloads/services.ts';
import { LocalWorkloads } from './workloads/store/local/local-workloads.ts';
import type { FileWorkload, Workload, Workloads, WorkloadStatus } from './workloads/workloads.ts';
import { WORKLOAD_RESTARTS } from './workloads/runner/restarts.ts';
import type { Launcher, LaunchState } from './workloads/runner/runner.ts';
import { stackOf, type RootLog } from './telemetry/log.ts';
import { servedState, servedWorkload } from './served-workload.ts';
import type { Served, ServeRequest } from './workloads/host.ts';

export type { ManagedCluster } from './managed-cluster.ts';
export type { ServerSpec } from './public-server.ts';

export interface GatewayOptions {
  readonly servers: readonly ServerSpec[];
  readonly management: ManagementOptions;
  /** Origins of pages that may call the MCP endpoints, beside those of the configurations. */
  readonly allowedOrigins?: readonly string[] | undefined;
  readonly log: RootLog;
  readonly version: string;
  /** Command that starts vmcp in the current folder of the user, for the pages; `vmcp` when absent. */
  readonly program?: string | undefined;
  /** Runs the backends that are processes; without one such a backend is unavailable. */
  readonly launcher?: Launcher | undefined;
  /** Returns the state of an HTTP backend that local mode starts. */
  readonly launchState?: ((namespace: string, backend: string) => LaunchState | undefined) | undefined;
  /** Returns a problem for each member that local mode leaves out of a virtual server. */
  readonly leftOut?: ((namespace: string, server: string) => readonly Problem[]) | undefined;
  /** Store of users' upstream tokens; absent when there is none. */
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

/** Returns the state of a backend, by namespace and name, and where clients reach it. */
export type BackendStatus = (namespace: string, name: string) => WorkloadStatus & Pick<Workload, 'port' | 'url'>;

interface ApiOptions extends Pick<ManagementApiOptions, 'stateDir' | 'folders'> {
  /** Runs the servers of workloads. */
  readonly launcher: Launcher;
  /** Lists the workloads of files. `statusOf` returns the state of a backend. */
  readonly fromFiles?: ((statusOf: BackendStatus) => readonly FileWorkload[]) | undefined;
  /** Lists the groups of files. */
  readonly fileGroups?: (() => readonly string[]) | undefined;
  /** Cluster whose workloads are managed, in place of those of this machine. */
  readonly cluster?: ManagedCluster | undefined;
  /** Opens the login URL of a workload for the user. */
  readonly openBrowser?: ((url: string) => void) | undefined;
}

export interface ManagementOptions {
  readonly host: string;
  readonly port: number;
  /** Serves the management API. */
  readonly api?: ApiOptions | undefined;
  /** Authenticates every request. */
  readonly boundary?: Boundary | undefined;
  /** Origins of other pages that may call. */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** Settings of an audit log of its own; requests are also written to those of the servers. */
  readonly audit?: AuditConfig | undefined;
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
  /** Accepted issuer; undefined in modes without one. */
  readonly issuer: string | undefined;
}

const DRAIN_GRACE_MS = 30_000;
/** Longest time for which requests of the management API may run after the servers have stopped. */
const MANAGEMENT_MS = 5_000;

const OPEN_TO_OTHERS =
  'without a login the management API can only listen on a loopback address: configure "auth", or listen on 127.0.0.1';

const key = ({ config }: ServerSpec): string => `${config.vmcp.namespace ?? ''}/${config.name ?? ''}`;

const backendState = (server: PublicServer, backend: string): WorkloadStatus =>
  statusOf({ desired: 'running', served: servedState(server, backend) });

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
  /** Listeners of workloads, which a swap leaves alone. */
  readonly #workloads = new Set<PublicServer>();
  /** Servers that a swap has removed and whose calls still run. */
  readonly #stopping = new Set<Promise<void>>();
  readonly #registry = new Registry();
  readonly #metrics = new ServerMetrics(this.#registry, Date.now());
  readonly #budgets = createBudgets();
  readonly #requestIdPrefix = randomBytes(4).toString('hex');
  readonly #instanceId = randomUUID();
  readonly #createTransport: ReturnType<typeof createTransports>;
  readonly #postForm: ReturnType<typeof createFormPoster>;
  /** Aborted at the start of a drain. */
  readonly #draining = new AbortController();
  readonly #audit: ProcessAudit;
  #management: Listener | undefined;
  #store: Workloads | undefined;
  #localStore: LocalWorkloads | undefined;
  #client: KubeClient | undefined;
  #connection: Connection | undefined;
  #links: readonly ClusterLink[] = [];

  constructor(options: GatewayOptions) {
    const { log, version, launcher } = options;
    this.#options = options;
    this.#audit = new ProcessAudit(options.stdout ?? process.stdout, log);
    this.#createTransport = createTransports({
      log,
      version,
      launcher,
      connection: () => this.#apiConnection(),
      now: Date.now,
    });
    this.#postForm = createFormPoster(log);
    collectDefaultMetrics({ register: this.#registry });
    countSessions(this.#registry, () => this.#virtualServers());
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
    const { host, port } = this.#management ?? this.#options.management;
    return `http://${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
  }

  async start(): Promise<void> {
    process.on('unhandledRejection', this.#onUnhandled);
    const { management, version, servers, log } = this.#options;
    const { api, boundary, audit } = management;
    if (api && !boundary && !isLoopback(management.host)) throw new BoundaryImpossible(new Error(OPEN_TO_OTHERS));
    if (audit) await this.#openAudit(audit);
    const app = createManagementApp(() => this.#virtualServers(), this.#registry, version, {
      log,
      boundary,
      api: api && this.#managementApi(api),
      auditLogs: () => this.#audit.logs(this.#running.values()),
      origins: { current: managementOrigins(management.host, management.allowedOrigins) },
      requestIdPrefix: this.#requestIdPrefix,
      refusals: new RefusalLog(log),
    });
    this.#management = await listen(app, management.host, management.port);
    for (const spec of servers) await this.#startServer(spec);
    for (const spec of servers) await this.#follow(spec);
  }

  /** Rejects with `BoundaryImpossible`. */
  #openAudit(audit: AuditConfig): Promise<void> {
    const onDropped = this.#metrics.auditDropped('management');
    return this.#audit.openManagement(audit, { now: Date.now, onDropped }).catch(auditFault);
  }

  /** Applies new configurations. Sessions of remaining servers continue. Rejects with `ListenError`. */
  async swap(specs: readonly ServerSpec[]): Promise<void> {
    for (const [name, one] of [...this.#running]) {
      if (this.#workloads.has(one) || specs.some((spec) => key(spec) === name)) continue;
      this.#forget(name);
      const stopped = one.stop(DRAIN_GRACE_MS).finally(() => this.#stopping.delete(stopped));
      this.#stopping.add(stopped);
    }
    for (const spec of specs) {
      const present = this.#running.get(key(spec));
      if (present) await present.swap(spec);
      else await this.#startServer(spec);
    }
  }

  /** Probes a backend at once instead of at its next interval. */
  checkNow(backend: string): void {
    for (const server of this.#virtualServers()) server.fleet.checkNow(backend);
  }

  /** Drains: rejects new sessions, lets running calls finish within the grace period, then closes everything. */
  async stop(graceMs = DRAIN_GRACE_MS): Promise<void> {
    const { routesMs } = this.#options;
    const end = performance.now() + graceMs;
    const management = this.#management;
    management?.endConnections();
    this.#draining.abort(new Error('the process drains'));
    const unlinked = Promise.all(this.#links.map((link) => link.close()));
    const stopped = this.#configured().map((one) => one.stop(graceMs, routesMs));
    await Promise.all([unlinked, this.#store?.close(), ...stopped, ...(graceMs > 0 ? this.#stopping : [])]);
    if (management) {
      const managementEnd = Math.min(end, performance.now() + MANAGEMENT_MS);
      await management.refuseConnections(managementEnd);
      await finishRequests(management, managementEnd);
    }
    await Promise.all([management?.close(), this.#postForm.close(), this.#client?.close()]);
    await this.#audit.close();
    process.off('unhandledRejection', this.#onUnhandled);
  }

  /** Logs an unexpected error. The process continues: ending every session would be worse. */
  readonly #onUnhandled = (reason: unknown): void => {
    this.#options.log.error('unhandled rejection', { error: stackOf(reason) });
  };

  #managementApi(api: ApiOptions): RequestHandler {
    const { version, log } = this.#options;
    const { env } = process;
    const secrets = { env, keyring: osKeyring(api.stateDir), connectOnePassword: connectWithSdk() };
    const registry = { isReadOnly: env['VMCP_REGISTRY_READ_ONLY'] === '1' };
    const allowPrivateIp = env['VMCP_SKILLS_ALLOW_PRIVATE_IP'] === '1';
    const endpoints = (): readonly GroupEndpoint[] => this.#endpoints();
    const servers = () => [...this.#running.values()].map(({ virtual }) => explainedServer(virtual));
    const host = { env, version, log, now: Date.now, endpoints, servers, draining: this.#draining.signal };
    const cluster = api.cluster && openCluster(api.cluster, { now: Date.now, log });
    this.#client = cluster?.client;
    const workloads = (services: WorkloadServices): Workloads =>
      (this.#store = cluster ? cluster.workloads(services) : this.#localWorkloads(api, services));
    const { fileGroups } = api;
    const options = { ...host, registry, secrets, workloads, allowPrivateIp, cluster, fileGroups };
    return createManagementApi({ stateDir: api.stateDir, folders: api.folders, ...options });
  }

  #localWorkloads(api: ApiOptions, services: WorkloadServices): LocalWorkloads {
    this.#localStore = new LocalWorkloads({
      ...services,
      stateDir: api.stateDir,
      host: { serve: (request) => this.#serveWorkload(request) },
      launcher: api.launcher,
      openBrowser: api.openBrowser,
      ports: openPortBook(join(api.stateDir, 'server-ports.json')),
      readFile: readSecretFile,
      fromFiles: () => api.fromFiles?.((...backend) => this.#backendStatus(...backend)) ?? [],
      allowPrivateIps: process.env['VMCP_WORKLOADS_ALLOW_PRIVATE_IP'] === '1',
      now: Date.now,
      random: Math.random,
      log: this.#options.log,
    });
    return this.#localStore;
  }

  /** Returns the state of a backend in the first virtual server that has it. */
  #backendStatus(namespace: string, name: string): ReturnType<BackendStatus> {
    for (const server of this.#running.values()) {
      const { config } = server.virtual;
      if (config.vmcp.namespace !== namespace || !config.vmcp.backends.some((one) => one.name === name)) continue;
      const { port, mcpUrl: url } = server;
      return { ...backendState(server, name), port, url };
    }
    return { status: 'stopped', status_context: 'no virtual server uses it', port: 0, url: '' };
  }

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
    return [...configured, ...(this.#localStore?.endpoints() ?? [])];
  }

  /** Lists the servers of configurations, without those of workloads. */
  #configured(): PublicServer[] {
    return [...this.#running.values()].filter((server) => !this.#workloads.has(server));
  }

  #virtualServers(): VirtualServer[] {
    return [...this.#running.values()].map(({ virtual }) => virtual);
  }

  #isAloneAtItsOrigin(name: string): boolean {
    const origin = this.#running.get(name)?.resourceOrigin;
    return [...this.#running].every(([other, server]) => other === name || server.resourceOrigin !== origin);
  }

  async #startServer(spec: ServerSpec, own: Partial<PublicServerDeps> = {}): Promise<PublicServer> {
    const { log, version, program, upstreamTokens, heartbeatMs, launchState, leftOut } = this.#options;
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
      strategies: { now: Date.now, log, upstreamTokens, readSecret: readSecretFile, postForm: this.#postForm },
      ...own,
    });
    this.#running.set(key(spec), server);
    return server;
  }

  /** Serves a workload on a listener of its own. Rejects with `ListenError` and `BoundaryImpossible`. */
  async #serveWorkload({ config, host, port, ...request }: ServeRequest): Promise<Served> {
    const { version, upstreamTokens, management } = this.#options;
    const { log, launcher, readSecret, launchState, authenticator } = request;
    const stateDir = management.api && join(management.api.stateDir, 'workload-auth-servers', config.name ?? '');
    const spec = { config, host, port, local: true, ...(stateDir !== undefined && { stateDir }) };
    const server = await this.#startServer(spec, {
      log,
      authenticator,
      createTransport: createTransports({ log, version, launcher, now: Date.now, restarts: WORKLOAD_RESTARTS }),
      unserved: { launchState },
      strategies: { now: Date.now, log, upstreamTokens, readSecret, postForm: this.#postForm },
    });
    this.#workloads.add(server);
    return servedWorkload(server, () => {
      this.#workloads.delete(server);
      if (this.#running.get(key(spec)) === server) this.#forget(key(spec));
    });
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
    const { ClusterLink: Link } = await import('./cluster/cluster-link.ts');
    const link = new Link({
      connection,
      config: spec.config,
      virtual: server.virtual,
      swap: (config) => server.swap({ ...spec, config }),
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
