import { isDeepStrictEqual } from 'node:util';
import type { AuditLog } from './audit/audit-log.ts';
import { createPublicApp, type AppOptions } from './app.ts';
import type { AuthServer } from './authserver/auth-server.ts';
import type { GatewayConfig } from './contract/gateway-config.ts';
import { clientRulesOf } from './client-rules.ts';
import { endAccepting, finishRequests } from './drain.ts';
import { forwardedAddresses } from './http/forwarded-address.ts';
import { isLoopback, type OriginGuardOptions } from './http/origin-guard.ts';
import { boundaryOf } from './incoming/boundary-of.ts';
import type { Boundary } from './incoming/boundary.ts';
import { listen, type Listener } from './listener.ts';
import { originsOf } from './origins-of.ts';
import type { RateBuckets } from './rate-buckets.ts';
import type { SessionStorage } from './session-storage.ts';
import { CurrentExport } from './telemetry/current-export.ts';
import { endStreamsOf, startHeartbeat } from './vmcp/edge/heartbeat.ts';
import type { VirtualServer } from './vmcp/virtual-server.ts';
import { withFields } from './contract/logger.ts';
import { publicPathsOf } from './contract/paths/public-paths.ts';

import {
  auditFault,
  createVirtualServer,
  exportDeps,
  impossible,
  openAudit,
  openAuthServer,
  openBuckets,
  openSessionStorage,
  type CurrentGate,
  type PublicServerDeps,
} from './public-server-parts.ts';

export interface ServerSpec {
  readonly config: GatewayConfig;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** True on a developer's machine: requests must name a loopback host, `host` or an allowed host. */
  readonly local?: boolean;
  /** Folder for generated keys, logins and clients of its authorization server; without it they end with the process. */
  readonly stateDir?: string;
}

const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** About 30 KiB each: twice as many would not fit into a pod of 768 MiB. */
const PUBLIC_CONNECTIONS = 12_000;
/** Time for which clients with sessions, and their load balancers, may still connect after a stop request. */
const ACCEPT_MS = 500;
/** Longest wait for clients to open their streams at other replicas: SDKs connect again after a second. */
const HAND_OVER_MS = 3_000;

/** One virtual server with its public listener and its boundary 1. */
export class PublicServer {
  readonly virtual: VirtualServer;
  readonly spec: ServerSpec;
  readonly #deps: PublicServerDeps;
  readonly #origins: { current: OriginGuardOptions };
  readonly #gate: CurrentGate;
  readonly #buckets: RateBuckets;
  readonly #storage: SessionStorage;
  readonly #listener: Listener;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #telemetry: CurrentExport;

  /** Rejects with `ListenError`. */
  static async start(spec: ServerSpec, deps: PublicServerDeps): Promise<PublicServer> {
    const origins = { current: originsOf({ ...spec, allowedOrigins: deps.allowedOrigins }) };
    const gate: CurrentGate = {
      boundary: { current: UNDER_WAY },
      authServer: { current: undefined },
      onLoginEnded: () => undefined,
      clientUrl: () => undefined,
      program: isLoopback(spec.host) ? deps.program : undefined, // users of other machines have another one
      paths: { current: publicPathsOf(spec.config) },
      audit: await openAudit(spec.config, deps),
    };
    gate.authServer.current = await openAuthServer(spec, deps, gate).catch(async (error: unknown) => {
      await gate.audit.close();
      throw error;
    });
    const telemetry = new CurrentExport(exportDeps(deps));
    await telemetry.apply(spec.config);
    const buckets = await openBuckets(spec.config, deps).catch(async (error: unknown) => {
      await Promise.all([gate.authServer.current?.close(), telemetry.close(0), gate.audit.close()]);
      throw error;
    });
    const virtual = createVirtualServer(spec.config, deps, gate, buckets, telemetry);
    const options: AppOptions = {
      log: deps.log,
      origins,
      requestIdPrefix: deps.requestIdPrefix,
      refusals: deps.refusals,
    };
    const storage = await openSessionStorage(spec.config, deps, virtual).catch(async (error: unknown) => {
      buckets.close();
      await Promise.all([virtual.close(), gate.authServer.current?.close(), telemetry.close(0), gate.audit.close()]);
      throw error;
    });
    const app = createPublicApp(virtual, { maxBodyBytes: MAX_BODY_BYTES, version: deps.version }, gate, options);
    let listener: Listener | undefined;
    try {
      listener = await listen(app, spec.host, spec.port, {
        maxConnections: PUBLIC_CONNECTIONS,
        addresses: () => forwardedAddresses(virtual.config.vmcp.incoming.trusted_proxies ?? []),
        servesMcp: true,
        onRefused: () => {
          deps.onOverBudget('connections');
        },
      });
      return new PublicServer(spec, deps, { virtual, origins, gate, buckets, storage, listener, telemetry });
    } catch (error) {
      buckets.close();
      storage.close();
      await Promise.all([listener?.close(), virtual.close(), gate.authServer.current?.close(), telemetry.close(0)]);
      await gate.audit.close();
      throw error;
    }
  }

  private constructor(
    spec: ServerSpec,
    deps: PublicServerDeps,
    parts: {
      virtual: VirtualServer;
      origins: { current: OriginGuardOptions };
      gate: CurrentGate;
      buckets: RateBuckets;
      storage: SessionStorage;
      listener: Listener;
      telemetry: CurrentExport;
    },
  ) {
    this.spec = spec;
    this.#deps = deps;
    this.virtual = parts.virtual;
    this.#origins = parts.origins;
    this.#gate = parts.gate;
    this.#buckets = parts.buckets;
    this.#storage = parts.storage;
    this.#listener = parts.listener;
    this.#telemetry = parts.telemetry;
    this.#gate.boundary.current = this.#newBoundary(spec.config, parts.gate.authServer.current);
    this.#gate.onLoginEnded = (tsid) => {
      endStreamsOf(parts.virtual, tsid);
      parts.virtual.replica?.mailbox.broadcast('login', { tsid });
    };
    parts.virtual.onReplica(({ mailbox }) => {
      mailbox.on('login', ({ tsid }) => {
        endStreamsOf(parts.virtual, tsid);
      });
    });
    const isHere = spec.local ?? isLoopback(spec.host); // elsewhere clients need another URL than `mcpUrl`
    this.#gate.clientUrl = () => this.virtual.config.oidc_config?.resourceURL ?? (isHere ? this.mcpUrl : undefined);
    this.#heartbeat = startHeartbeat(parts.virtual, deps.heartbeatMs);
  }

  /** Current audit log; undefined while it is off. */
  get auditLog(): AuditLog | undefined {
    return this.#gate.audit.current;
  }

  get mcpUrl(): string {
    return `http://${urlHost(this.spec.host)}:${String(this.#listener.port)}/mcp`;
  }

  get port(): number {
    return this.#listener.port;
  }

  /** Bound address and port: other machines may reach it although `mcpUrl` names the loopback address. */
  get address(): string {
    return this.#listener.address;
  }

  /** Clients registered at the embedded authorization server; undefined without one, and while its store is down. */
  async registeredClients(): Promise<number | undefined> {
    return this.#gate.authServer.current?.registeredClients();
  }

  /** Origin of the URL that clients use. */
  get resourceOrigin(): string | undefined {
    return URL.parse(this.virtual.config.oidc_config?.resourceURL ?? this.mcpUrl)?.origin;
  }

  /**
   * Applies another configuration on the same listener. Sessions continue unless the rules for clients change. Rejects with
   * `BoundaryImpossible`, and then keeps the current configuration.
   */
  async swap(spec: ServerSpec): Promise<void> {
    const before = this.virtual.config;
    const { config } = spec;
    const buckets = await this.#buckets.prepare(config).catch(impossible);
    const storage = await this.#storage
      .prepare(config, (store) => {
        this.virtual.useStore(store);
      })
      .catch((error: unknown) => {
        buckets.discard();
        return impossible(error);
      });
    const isNew = !isDeepStrictEqual(incomingOf(before), incomingOf(config));
    await this.#gate.audit
      .swap(config, () => this.#swapGate(config, isNew))
      .catch((error: unknown) => {
        buckets.discard();
        storage.discard();
        return auditFault(error);
      });
    buckets.apply();
    storage.apply();
    this.#gate.paths.current = publicPathsOf(config);
    this.#origins.current = originsOf({ ...spec, host: this.spec.host, allowedOrigins: this.#deps.allowedOrigins });
    // the new rules may reject clients that the old rules accepted
    if (clientRulesOf(before) !== clientRulesOf(config)) this.virtual.endSessions();
    this.virtual.swap(config);
    await this.#telemetry.apply(config);
  }

  /**
   * Drains: reports not ready and rejects new sessions, but still accepts connections: for `routesMs`, or a short time while there are
   * sessions, as load balancers learn late that it is not ready. Running calls finish within the grace period, while streams move to
   * other replicas, then everything closes.
   */
  async stop(graceMs: number, routesMs = 0): Promise<void> {
    const end = performance.now() + graceMs;
    this.virtual.refuseSessions();
    const acceptMs = Math.max(routesMs, this.virtual.sessions.size > 0 ? ACCEPT_MS : 0);
    await endAccepting(this.#listener, acceptMs, end);
    const isMoving = this.virtual.replica?.handOver();
    const moved = performance.now() + HAND_OVER_MS;
    const isBusy = (): boolean => this.virtual.runningCalls > 0 || (performance.now() < moved && isMoving?.() === true);
    await finishRequests(this.#listener, end, isBusy);
    clearInterval(this.#heartbeat);
    await this.virtual.close();
    await this.#listener.close();
    this.#gate.boundary.current.close();
    await this.#gate.authServer.current?.close();
    this.#buckets.close();
    this.#storage.close();
    await this.#telemetry.close(end - performance.now());
    await this.#gate.audit.close();
  }

  /** Creates the new parts before it closes the old ones. */
  async #swapGate(config: GatewayConfig, newRules: boolean): Promise<void> {
    const { authServer, boundary } = this.#gate;
    const present = authServer.current;
    const stays = present !== undefined && config.embedded_auth_server_config !== undefined;
    const { stateDir } = this.spec;
    const next = stays ? present : await openAuthServer({ config, stateDir }, this.#deps, this.#gate);
    let judge: Boundary | undefined;
    try {
      if (newRules) judge = this.#newBoundary(config, next);
      if (stays) await present.reconfigure(config).catch(impossible);
    } catch (error) {
      judge?.close();
      if (!stays) await next?.close();
      throw error;
    }
    if (judge) {
      boundary.current.close();
      boundary.current = judge;
    }
    authServer.current = next;
    if (!stays) await present?.close();
  }

  #newBoundary(config: GatewayConfig, authServer: AuthServer | undefined): Boundary {
    const { log, strategies, apiServer, rootAlias, onAuthentication } = this.#deps;
    return boundaryOf(config, this.mcpUrl, {
      log: withFields(log, { server: config.name }),
      now: strategies.now,
      exposed: !isLoopback(this.spec.host),
      apiServer,
      rootAlias,
      embedded: authServer,
      readSecret: strategies.readSecret,
      onOutcome: onAuthentication,
    });
  }
}

/** Returns the URL host at which this machine reaches a listener on `host`. */
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

const incomingOf = ({
  name,
  oidc_config,
  authz_config,
  embedded_auth_server_config,
  vmcp: { incoming },
}: GatewayConfig): unknown => ({
  name,
  oidc_config,
  incoming,
  embedded: embedded_auth_server_config !== undefined,
  claimsOf: authz_config?.cedar?.primary_upstream_provider,
});

/** Rejects every request until the first boundary is ready. */
const UNDER_WAY: Boundary = {
  authenticate: (_req, res) => {
    res.status(503).set('retry-after', '1').json({ error: 'temporarily_unavailable', message: 'starting: try again' });
  },
  metadata: (_req, _res, next) => {
    next();
  },
  challenge: (res) => {
    res.writeHead(503).end();
  },
  liveness: () => true,
  status: () => ({ ready: false }),
  close: () => undefined,
};
