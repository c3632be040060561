import { join } from 'node:path';
import type { Logger } from '../contract/logger.ts';
import type { GroupEndpoint } from '../management/clients/registrations.ts';
import { readSecretFile } from '../outbound/watched-file.ts';
import { createTransports } from '../vmcp/transport/index.ts';
import { statusOf } from '../workloads/definition/status.ts';
import type { ServedWorkload, ServedState, ServeRequest } from '../workloads/host.ts';
import { openPortBook } from '../workloads/runner/ports.ts';
import { WORKLOAD_RESTARTS } from '../workloads/runner/restarts.ts';
import type { Launcher } from '../workloads/runner/runner.ts';
import type { WorkloadServices } from '../workloads/services.ts';
import { LocalWorkloads } from '../workloads/store/local/local-workloads.ts';
import type { FileWorkload, Workload, WorkloadStatus } from '../workloads/workloads.ts';
import type { PublicServer, ServerSpec } from './public-server.ts';
import type { PublicServerDeps } from './public-server-deps.ts';

/** Returns the state of a backend, by namespace and name, and where clients reach it. */
export type BackendStatus = (namespace: string, name: string) => WorkloadStatus & Pick<Workload, 'port' | 'url'>;

export interface WorkloadHostOptions {
  readonly stateDir: string;
  /** Runs the servers of workloads. */
  readonly launcher: Launcher;
  /** Lists the workloads of files. `statusOf` returns the state of a backend. */
  readonly fromFiles?: ((statusOf: BackendStatus) => readonly FileWorkload[]) | undefined;
  /** Opens the login URL of a workload for the user. */
  readonly openBrowser?: ((url: string) => void) | undefined;
  readonly log: Logger;
  readonly version: string;
  /** Starts a server. Rejects with `ListenError` and `BoundaryImpossible`. */
  readonly startServer: (spec: ServerSpec, own: Partial<PublicServerDeps>) => Promise<PublicServer>;
  /** Forgets a server that `startServer` has started. */
  readonly forget: (server: PublicServer) => void;
  /** Lists the servers of configurations and of workloads. */
  readonly servers: () => Iterable<PublicServer>;
  readonly strategies: PublicServerDeps['strategies'];
}

/** Runs the workloads of the management API on this machine, each on a listener of its own. */
export class WorkloadHost {
  readonly #options: WorkloadHostOptions;
  readonly #serving = new Set<PublicServer>();
  #store: LocalWorkloads | undefined;

  constructor(options: WorkloadHostOptions) {
    this.#options = options;
  }

  /** Returns true for a server of a workload, which a change of configurations leaves alone. */
  serves(server: PublicServer): boolean {
    return this.#serving.has(server);
  }

  endpoints(): readonly GroupEndpoint[] {
    return this.#store?.endpoints() ?? [];
  }

  open(services: WorkloadServices): LocalWorkloads {
    const { stateDir, launcher, openBrowser, fromFiles, log } = this.#options;
    this.#store = new LocalWorkloads({
      ...services,
      stateDir,
      host: { serve: (request) => this.#serve(request) },
      launcher,
      openBrowser,
      ports: openPortBook(join(stateDir, 'server-ports.json')),
      readFile: readSecretFile,
      fromFiles: () => fromFiles?.((...backend) => this.#backendStatus(...backend)) ?? [],
      allowPrivateIps: process.env['VMCP_WORKLOADS_ALLOW_PRIVATE_IP'] === '1',
      now: Date.now,
      random: Math.random,
      log,
    });
    return this.#store;
  }

  async #serve({ config, host, port, ...request }: ServeRequest): Promise<ServedWorkload> {
    const { stateDir: state, version, strategies, startServer, forget } = this.#options;
    const { log, launcher, readSecret, launchState, authenticator } = request;
    const stateDir = join(state, 'workload-auth-servers', config.name ?? '');
    const server = await startServer(
      { config, host, port, local: true, stateDir },
      {
        log,
        authenticator,
        createTransport: createTransports({ log, version, launcher, now: Date.now, restarts: WORKLOAD_RESTARTS }),
        unserved: { launchState },
        strategies: { ...strategies, log, readSecret },
      },
    );
    this.#serving.add(server);
    const backend = (): string => server.virtual.config.vmcp.backends[0]?.name ?? '';
    return {
      port: server.port,
      state: () => servedState(server, backend()),
      swap: (next) => server.swap(next),
      probe: () => server.virtual.fleet.probed(backend()),
      stop: async (graceMs) => {
        await server.stop(graceMs);
        this.#serving.delete(server);
        forget(server);
      },
    };
  }

  /** Returns the state of a backend in the first virtual server that has it. */
  #backendStatus(namespace: string, name: string): ReturnType<BackendStatus> {
    for (const server of this.#options.servers()) {
      const { config } = server.virtual;
      if (config.vmcp.namespace !== namespace || !config.vmcp.backends.some((one) => one.name === name)) continue;
      const { port, mcpUrl: url } = server;
      return { ...backendState(server, name), port, url };
    }
    return { status: 'stopped', status_context: 'no virtual server uses it', port: 0, url: '' };
  }
}

/** Returns the state of a backend of a server as that of a workload. */
export const backendState = (server: PublicServer, backend: string): WorkloadStatus =>
  statusOf({ desired: 'running', served: servedState(server, backend) });

function servedState({ virtual: { fleet } }: PublicServer, name: string): ServedState {
  const health = fleet.health().backends[name];
  const { problem, restart } = fleet.launchState(name);
  const final = [problem, restart?.problem].find((one) => one?.permanent);
  const reason = final?.message ?? health?.reason;
  return {
    status: health?.status ?? 'unknown',
    ...(reason !== null && reason !== undefined && { reason }),
    failedProbes: health?.consecutive_failures ?? 0,
    isPermanent: final !== undefined,
    isListed: fleet.isListed(name),
    restart,
  };
}
