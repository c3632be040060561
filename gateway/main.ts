import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Logger } from 'winston';
import { createManagementApp, createPublicApp, type AppOptions } from './app.ts';
import type { GatewayConfig } from './contract/gateway-config.ts';
import { isLoopback, loopbackHosts, type CurrentOrigins, type OriginGuardOptions } from './http/origin-guard.ts';
import { listen, type Listener } from './listener.ts';
import { startHeartbeat } from './vmcp/edge/stream.ts';
import { CallMetrics } from './telemetry/call-metrics.ts';
import { createTransports } from './vmcp/transport/index.ts';
import { VirtualServer } from './vmcp/virtual-server.ts';
import type { Launcher } from './workloads/runner/runner.ts';
import { stackOf } from './telemetry/log.ts';

export interface ServerSpec {
  readonly config: GatewayConfig;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Runs on somebody's own machine: requests must name the machine by a loopback name, by `host` or an allowed host. */
  readonly local?: boolean;
}

export interface GatewayOptions {
  readonly servers: readonly ServerSpec[];
  readonly management: { readonly host: string; readonly port: number };
  readonly log: Logger;
  readonly version: string;
  /** Runs the backends that are processes; without one such a backend is unavailable. */
  readonly launcher?: Launcher | undefined;
}

export interface RunningServer {
  readonly name: string;
  readonly namespace: string;
  readonly mcpUrl: string;
}

interface Running {
  readonly server: VirtualServer;
  readonly listener: Listener;
  readonly spec: ServerSpec;
  readonly origins: { current: OriginGuardOptions };
  readonly heartbeat: NodeJS.Timeout;
}

const DRAIN_GRACE_MS = 30_000;
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** Time in which clients may use the connections they keep before these are cut. */
const IDLE_GRACE_MS = 500;

const key = ({ config }: ServerSpec): string => `${config.vmcp.namespace ?? ''}/${config.name ?? ''}`;

const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host === '0.0.0.0' ? '127.0.0.1' : host);

/** Starts everything and listens. Backend trouble never stops the start. Rejects with `ListenError`. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const gateway = new Gateway(options);
  process.on('unhandledRejection', (reason) => {
    // a fault of ours; ending every session because of one would be the greater harm
    options.log.error('unhandled rejection', {
      error: stackOf(reason),
    });
  });
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
  readonly #running = new Map<string, Running>();
  readonly #registry = new Registry();
  readonly #metrics = new CallMetrics(this.#registry);
  readonly #requestIdPrefix = randomBytes(4).toString('hex');
  readonly #createTransport: ReturnType<typeof createTransports>;
  #management: Listener | undefined;

  constructor(options: GatewayOptions) {
    const { log, version, launcher } = options;
    this.#options = options;
    this.#createTransport = createTransports({ log, version, launcher, now: Date.now });
    collectDefaultMetrics({ register: this.#registry });
    countSessions(this.#registry, () => this.#virtualServers());
  }

  get servers(): readonly RunningServer[] {
    return [...this.#running.values()].map(({ spec, listener }) => ({
      name: spec.config.name ?? '',
      namespace: spec.config.vmcp.namespace ?? '',
      mcpUrl: `http://${urlHost(spec.host)}:${String(listener.port)}/mcp`,
    }));
  }

  get managementUrl(): string {
    const { host, port } = this.#management ?? this.#options.management;
    return `http://${urlHost(host)}:${String(port)}`;
  }

  async start(): Promise<void> {
    const { management, version, servers } = this.#options;
    const app = createManagementApp(
      () => this.#virtualServers(),
      this.#registry,
      version,
      this.#appOptions({ current: managementOrigins(management.host) }),
    );
    this.#management = await listen(app, management.host, management.port);
    for (const spec of servers) await this.#startServer(spec);
  }

  /** Takes new configurations: sessions of servers that stay live on. Rejects with `ListenError`. */
  async swap(specs: readonly ServerSpec[]): Promise<void> {
    for (const [name, one] of [...this.#running]) {
      if (specs.some((spec) => key(spec) === name)) continue;
      this.#running.delete(name);
      this.#metrics.forget(name);
      void this.#stopServer(one, DRAIN_GRACE_MS);
    }
    for (const spec of specs) {
      const present = this.#running.get(key(spec));
      if (present) {
        present.origins.current = originsOf({ ...spec, host: present.spec.host });
        present.server.swap(spec.config);
      } else await this.#startServer(spec);
    }
  }

  /** Probes a backend at once instead of at its next interval. */
  checkNow(backend: string): void {
    for (const server of this.#virtualServers()) server.fleet.checkNow(backend);
  }

  /** No new sessions, running calls finish within the grace, then everything closes. */
  async stop(graceMs = DRAIN_GRACE_MS): Promise<void> {
    await Promise.all([...this.#running.values()].map((one) => this.#stopServer(one, graceMs)));
    await this.#management?.close();
  }

  #virtualServers(): VirtualServer[] {
    return [...this.#running.values()].map(({ server }) => server);
  }

  #appOptions(origins: CurrentOrigins): AppOptions {
    return { log: this.#options.log, origins, requestIdPrefix: this.#requestIdPrefix };
  }

  async #startServer(spec: ServerSpec): Promise<void> {
    const { log, version } = this.#options;
    const { config } = spec;
    const server = new VirtualServer(config, {
      log: log.child({ server: config.name }),
      now: Date.now,
      random: Math.random,
      newId: randomUUID,
      createTransport: this.#createTransport,
      metrics: this.#metrics.of(key(spec)),
    });
    const origins = { current: originsOf(spec) };
    const app = createPublicApp(server, { maxBodyBytes: MAX_BODY_BYTES, version }, this.#appOptions(origins));
    try {
      const listener = await listen(app, spec.host, spec.port);
      this.#running.set(key(spec), { server, listener, spec, origins, heartbeat: startHeartbeat(server) });
    } catch (error) {
      await server.close();
      throw error;
    }
  }

  async #stopServer({ server, listener, heartbeat }: Running, graceMs: number): Promise<void> {
    listener.refuseConnections();
    const idleGraceMs = server.sessions.size > 0 ? Math.min(IDLE_GRACE_MS, graceMs) : 0;
    await Promise.all([server.drain(graceMs), setTimeout(idleGraceMs)]);
    clearInterval(heartbeat);
    await server.close();
    await listener.close();
  }
}

function countSessions(registry: Registry, servers: () => readonly VirtualServer[]): void {
  const gauge = new Gauge({
    name: 'vmcp_sessions',
    help: 'Live client sessions.',
    labelNames: ['server'],
    registers: [registry],
    collect: () => {
      gauge.reset();
      for (const server of servers()) gauge.set({ server: server.name }, server.sessions.size);
    },
  });
}

/** On a loopback address only this machine calls, by its loopback names; elsewhere hosts are checked if configured. */
function originsOf({ config, host, local = isLoopback(host) }: ServerSpec): OriginGuardOptions {
  const { allowed_hosts: hosts, allowed_origins: origins } = config.vmcp.incoming;
  const own = local ? [...loopbackHosts(host)] : [];
  return {
    allowedHosts: hosts || local ? new Set([...own, ...(hosts ?? []).map((name) => name.toLowerCase())]) : undefined,
    allowedOrigins: new Set(origins),
    allowLoopbackOrigins: local,
  };
}

const managementOrigins = (host: string): OriginGuardOptions => ({
  allowedHosts: isLoopback(host) ? loopbackHosts(host) : undefined,
  allowedOrigins: new Set(),
  allowLoopbackOrigins: isLoopback(host),
});
