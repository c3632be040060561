import type { RequestHandler } from 'express';
import type { Registry } from 'prom-client';
import { createManagementApp } from '../app.ts';
import type { ProcessAudit } from '../audit/process-audit.ts';
import type { AuditConfig } from '../contract/run-config/audit.ts';
import { finishRequests } from '../drain.ts';
import { isLoopback } from '../http/origin-guard.ts';
import type { Boundary } from '../incoming/boundary.ts';
import { BoundaryImpossible } from '../incoming/boundary-of.ts';
import { KubeClient } from '../kube/client.ts';
import type { Connection } from '../kube/connection.ts';
import { listen, type Listener } from '../listener.ts';
import type { GroupEndpoint } from '../management/clients/registrations.ts';
import { createManagementApi, type ManagementApiOptions } from '../management/management-api.ts';
import { connectWithSdk } from '../management/secrets/one-password-sdk.ts';
import { osKeyring } from '../management/secrets/password.ts';
import { managementOrigins } from '../origins-of.ts';
import type { RootLog } from '../telemetry/log.ts';
import { RefusalLog } from '../telemetry/refusal-log.ts';
import type { WorkloadServices } from '../workloads/services.ts';
import { ClusterWorkloads } from '../workloads/store/kubernetes/cluster-workloads.ts';
import type { Workloads } from '../workloads/workloads.ts';
import { auditFault, type PublicServer } from './public-server.ts';
import type { WorkloadHost, WorkloadHostOptions } from './workload-host.ts';
import type { ExplainedServer, ToolListing } from '../management/policies/explained-servers.ts';
import type { KnownTool } from '../policy/explain/explanation.ts';
import type { Route, View } from '../vmcp/aggregation/view.ts';
import type { VirtualServer } from '../vmcp/virtual-server.ts';

/** Cluster whose workloads the management API manages. */
export interface ManagedCluster {
  readonly connection: Connection;
  /** Served namespaces. New workloads live in the first namespace. */
  readonly namespaces: readonly [string, ...string[]];
}

export interface ApiOptions
  extends
    Pick<ManagementApiOptions, 'stateDir' | 'folders'>,
    Pick<WorkloadHostOptions, 'launcher' | 'fromFiles' | 'openBrowser'> {
  /** Lists the groups of files. */
  readonly fileGroups?: (() => readonly string[]) | undefined;
  /** Cluster whose workloads are managed, in place of those of this machine. */
  readonly cluster?: ManagedCluster | undefined;
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

/** Parts of the process that its management listener shows. */
export interface ManagementHostDeps {
  readonly log: RootLog;
  readonly version: string;
  readonly registry: Registry;
  readonly requestIdPrefix: string;
  readonly audit: ProcessAudit;
  readonly onAuditDropped: (reason: string) => void;
  /** Lists the servers of configurations and of workloads. */
  readonly servers: () => readonly PublicServer[];
  /** Lists the MCP endpoints that run now. */
  readonly endpoints: () => readonly GroupEndpoint[];
  /** Workloads of this machine; undefined without the management API. */
  readonly workloads: WorkloadHost | undefined;
}

/** Longest time for which requests of the management API may run after the servers have stopped. */
const MANAGEMENT_MS = 5_000;

const OPEN_TO_OTHERS =
  'without a login the management API can only listen on a loopback address: configure "auth", or listen on 127.0.0.1';

/** The management listener of the process, with the management API where it is enabled. */
export class ManagementHost {
  readonly #options: ManagementOptions;
  readonly #deps: ManagementHostDeps;
  /** Aborted at the start of a drain. */
  readonly #draining = new AbortController();
  #listener: Listener | undefined;
  #store: Workloads | undefined;
  #client: KubeClient | undefined;

  constructor(options: ManagementOptions, deps: ManagementHostDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  get url(): string {
    const { host, port } = this.#listener ?? this.#options;
    return `http://${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
  }

  /** Rejects with `ListenError` and `BoundaryImpossible`. */
  async open(): Promise<void> {
    const { host, port, api, boundary, audit, allowedOrigins } = this.#options;
    const { log, version, registry, requestIdPrefix, servers, onAuditDropped, workloads } = this.#deps;
    const { audit: processAudit } = this.#deps;
    if (api && !boundary && !isLoopback(host)) throw new BoundaryImpossible(new Error(OPEN_TO_OTHERS));
    if (audit) await processAudit.openManagement(audit, { now: Date.now, onDropped: onAuditDropped }).catch(auditFault);
    const virtualServers = () => servers().map(({ virtual }) => virtual);
    const app = createManagementApp(virtualServers, registry, version, {
      log,
      boundary,
      api: api && workloads && this.#api(api, workloads),
      auditLogs: () => processAudit.logs(servers()),
      origins: { current: managementOrigins(host, allowedOrigins) },
      requestIdPrefix,
      refusals: new RefusalLog(log),
    });
    this.#listener = await listen(app, host, port);
  }

  /** Ends connections with their next response, and streams now. Resolves when the workloads have stopped. */
  async drain(): Promise<void> {
    this.#listener?.endConnections();
    this.#draining.abort(new Error('the process drains'));
    await this.#store?.close();
  }

  /** Lets running requests finish until `end`, in ms of `performance.now()`, for a few seconds at most. */
  async close(end: number): Promise<void> {
    const listener = this.#listener;
    if (listener) {
      const ownEnd = Math.min(end, performance.now() + MANAGEMENT_MS);
      await listener.refuseConnections(ownEnd);
      await finishRequests(listener, ownEnd);
    }
    await Promise.all([listener?.close(), this.#client?.close()]);
  }

  #api({ stateDir, folders, cluster, fileGroups }: ApiOptions, local: WorkloadHost): RequestHandler {
    const { version, log, endpoints, servers } = this.#deps;
    const { env } = process;
    const access = cluster && this.#openCluster(cluster);
    return createManagementApi({
      stateDir,
      folders,
      env,
      version,
      log,
      now: Date.now,
      endpoints,
      servers: () => servers().map(({ virtual }) => explainedServer(virtual)),
      draining: this.#draining.signal,
      registry: { isReadOnly: env['VMCP_REGISTRY_READ_ONLY'] === '1' },
      secrets: { env, keyring: osKeyring(stateDir), connectOnePassword: connectWithSdk() },
      workloads: (services) => (this.#store = (access ?? local).open(services)),
      allowPrivateIp: env['VMCP_SKILLS_ALLOW_PRIVATE_IP'] === '1',
      cluster: access,
      fileGroups,
    });
  }

  #openCluster({ connection, namespaces }: ManagedCluster) {
    const client = new KubeClient(connection);
    const { log } = this.#deps;
    const clocks = { now: Date.now, monotonicNow: () => performance.now(), random: Math.random };
    this.#client = client;
    return {
      client,
      namespace: namespaces[0],
      open: ({ findServer }: WorkloadServices): Workloads =>
        new ClusterWorkloads({ client, namespaces, findServer, ...clocks, log }),
    };
  }
}

/** Returns a virtual server as the explanation of policies reads it. */
const explainedServer = ({ name, config, views, fleet }: VirtualServer): ExplainedServer => ({
  name,
  namespace: config.vmcp.namespace,
  config,
  listTools: async (): Promise<ToolListing> => {
    await views.shared.whenSettled();
    const { current } = views.shared;
    return { tools: toolsOf(current), unknown: [...new Set([...current.unavailable, ...fleet.personal])].toSorted() };
  },
});

/** The full form of a shortened name is a second key of its route: each route counts once. */
function toolsOf({ tools, hiddenTools }: View): KnownTool[] {
  const known = (routes: Iterable<Route>, isVisible: boolean): KnownTool[] =>
    [...new Map([...routes].map((route) => [route.advertised, route])).values()].map(
      ({ advertised, backend, json }) => ({ name: advertised, backend, json, isVisible }),
    );
  const all = [...known(tools.values(), true), ...known(hiddenTools.values(), false)];
  return all.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
