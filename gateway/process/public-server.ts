import { randomUUID } from 'node:crypto';
import { type AuditLog, sessionEnded } from '../audit/audit-log.ts';
import { writeAuthServerEvent } from '../audit/auth-server-events.ts';
import { AuditSlot } from '../audit/open-audit.ts';
import { AuditUnusable } from '../audit/settings.ts';
import { createPublicApp } from '../app.ts';
import type { AuthServer } from '../authserver/auth-server.ts';
import type { AuthServerEvent } from '../authserver/events.ts';
import { randomPool } from '../authserver/keys/random-pool.ts';
import { clientRulesOf, SessionStorage } from '../session-storage.ts';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import { withFields, type Logger } from '../contract/logger.ts';
import { publicPathsOf } from '../contract/paths/public-paths.ts';
import { endAccepting, finishRequests } from '../drain.ts';
import { forwardedAddresses } from '../http/client-address.ts';
import { isLoopback } from '../http/origin-guard.ts';
import { boundaryOf, BoundaryImpossible } from '../incoming/boundary-of.ts';
import type { Boundary } from '../incoming/boundary.ts';
import { pageUrlOf } from '../landing/landing.ts';
import { changeParts, closeParts, NO_CHANGE, openParts, refusing, type Change, type Part } from '../kit/parts.ts';
import { listen, type Listener } from '../listener.ts';
import { originsOf } from '../origins-of.ts';
import { createOutbound } from '../outbound/fetch.ts';
import { createAuthenticator } from '../outgoing/index.ts';
import { policiesOf } from '../policies-of.ts';
import { RateBuckets } from '../rate-buckets.ts';
import { auditTo } from '../telemetry/audit-log.ts';
import { CurrentExport } from '../telemetry/current-export.ts';
import { endStreamsOf, startHeartbeat } from '../vmcp/edge/heartbeat.ts';
import { VirtualServer } from '../vmcp/virtual-server.ts';
import { AuthServerPart } from './auth-server-part.ts';
import { BoundaryPart } from './boundary-part.ts';
import type { PublicServerDeps } from './public-server-deps.ts';

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
  readonly spec: ServerSpec;
  readonly #deps: PublicServerDeps;
  readonly #log: Logger;
  readonly #audit: AuditSlot;
  readonly #telemetry: CurrentExport;
  readonly #buckets: RateBuckets;
  readonly #storage: SessionStorage;
  readonly #authServer = new AuthServerPart((config) => this.#openAuthServer(config));
  readonly #boundary = new BoundaryPart((config) => this.#createBoundary(config));
  /** Paths and origins of the current configuration. */
  readonly #paths: { current: ReturnType<typeof publicPathsOf> };
  readonly #origins: { current: ReturnType<typeof originsOf> };
  readonly #parts: readonly Part<GatewayConfig>[];
  #listener: Listener | undefined;
  #virtual: VirtualServer | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  /** Rejects with `ListenError` and `BoundaryImpossible`. */
  static async start(spec: ServerSpec, deps: PublicServerDeps): Promise<PublicServer> {
    const server = new PublicServer(spec, deps);
    await openParts(server.#parts, spec.config);
    return server;
  }

  private constructor(spec: ServerSpec, deps: PublicServerDeps) {
    const { strategies, auditOutputs, onAuditDropped, env, rateLimits } = deps;
    this.spec = spec;
    this.#deps = deps;
    const log = withFields(deps.log, { server: spec.config.name });
    this.#log = log;
    this.#audit = new AuditSlot(auditOutputs, { now: strategies.now, onDropped: onAuditDropped });
    this.#telemetry = new CurrentExport(exportDeps(deps));
    this.#buckets = new RateBuckets({ log, env, observer: rateLimits });
    this.#storage = new SessionStorage({ log, env, use: (store) => this.#virtual?.useStore(store) });
    this.#paths = { current: publicPathsOf(spec.config) };
    this.#origins = { current: originsOf({ ...spec, allowedOrigins: deps.allowedOrigins }) };
    // each part may use those before it, and is closed before them
    this.#parts = [
      refusing(this.#audit, auditFault),
      this.#telemetry,
      refusing(this.#buckets, impossible),
      refusing(this.#storage, impossible),
      refusing(this.#authServer, impossible),
      { prepare: () => this.#listen(), close: () => this.#listener?.close() },
      this.#boundary,
      { prepare: (config) => this.#prepareServer(config), close: () => this.#closeServer() },
    ];
  }

  get virtual(): VirtualServer {
    return (this.#virtual ??= this.#createVirtual());
  }

  /** Current audit log; undefined while it is off. */
  get auditLog(): AuditLog | undefined {
    return this.#audit.current;
  }

  get mcpUrl(): string {
    return `http://${urlHost(this.spec.host)}:${String(this.port)}/mcp`;
  }

  get port(): number {
    return this.#listener?.port ?? this.spec.port;
  }

  /** Bound address and port: other machines may reach it although `mcpUrl` names the loopback address. */
  get address(): string {
    return this.#listener?.address ?? '';
  }

  /** Clients registered at the embedded authorization server; undefined without such a server, and while its store is down. */
  async registeredClients(): Promise<number | undefined> {
    return this.#authServer.current?.registeredClients();
  }

  /** Origin of the URL that clients use. */
  get resourceOrigin(): string | undefined {
    return URL.parse(this.virtual.config.oidc_config?.resourceURL ?? this.mcpUrl)?.origin;
  }

  /**
   * Applies another configuration on the same listener. Sessions continue unless the rules for clients change. Rejects with
   * `BoundaryImpossible`, and then keeps the current configuration.
   */
  swap(config: GatewayConfig): Promise<void> {
    return changeParts(this.#parts, config);
  }

  /**
   * Drains: reports not ready and rejects new sessions, but still accepts connections: for `routesMs`, or a short time while there are
   * sessions, as load balancers learn late that it is not ready. Running calls finish within the grace period, while streams move to
   * other replicas, then everything closes.
   */
  async stop(graceMs: number, routesMs = 0): Promise<void> {
    const end = performance.now() + graceMs;
    const listener = this.#listener;
    if (listener) await this.#drain(listener, end, routesMs);
    await closeParts(this.#parts, end);
  }

  async #drain(listener: Listener, end: number, routesMs: number): Promise<void> {
    const { virtual } = this;
    virtual.refuseSessions();
    const acceptMs = Math.max(routesMs, virtual.sessions.size > 0 ? ACCEPT_MS : 0);
    await endAccepting(listener, acceptMs, end);
    const isMoving = virtual.replica?.handOver();
    const moved = performance.now() + HAND_OVER_MS;
    const isBusy = (): boolean => virtual.runningCalls > 0 || (performance.now() < moved && isMoving?.() === true);
    await finishRequests(listener, end, isBusy);
  }

  /** The listener is the same for all configurations. */
  async #listen(): Promise<Change> {
    if (this.#listener) return NO_CHANGE;
    const { log, requestIdPrefix, refusals, version, program, onOverBudget } = this.#deps;
    const { host, port } = this.spec;
    const { virtual } = this;
    const gate = {
      boundary: this.#boundary,
      authServer: this.#authServer,
      clientUrl: () => this.#clientUrl(),
      program: isLoopback(host) ? program : undefined, // users of other machines have another program
      paths: this.#paths,
      audit: this.#audit,
    };
    const options = { log, origins: this.#origins, requestIdPrefix, refusals };
    const app = createPublicApp(virtual, { maxBodyBytes: MAX_BODY_BYTES, version }, gate, options);
    this.#listener = await listen(app, host, port, {
      maxConnections: PUBLIC_CONNECTIONS,
      addresses: () => forwardedAddresses(virtual.config.vmcp.incoming.trusted_proxies ?? []),
      servesMcp: true,
      onRefused: () => {
        onOverBudget('connections');
      },
    });
    return NO_CHANGE;
  }

  #prepareServer(config: GatewayConfig): Change {
    const { virtual } = this;
    if (!this.#heartbeat) {
      this.#heartbeat = startHeartbeat(virtual, this.#deps.heartbeatMs);
      return NO_CHANGE;
    }
    const { allowedOrigins } = this.#deps;
    return {
      apply: () => {
        this.#paths.current = publicPathsOf(config);
        this.#origins.current = originsOf({ ...this.spec, config, allowedOrigins });
        // the new rules may reject clients that the old rules accepted
        if (clientRulesOf(virtual.config) !== clientRulesOf(config)) virtual.endSessions();
        virtual.swap(config);
      },
      discard: () => undefined,
    };
  }

  async #closeServer(): Promise<void> {
    clearInterval(this.#heartbeat);
    await this.#virtual?.close();
  }

  /** Returns the MCP URL for clients; undefined when only clients know it. */
  #clientUrl(): string | undefined {
    const { host, local = isLoopback(host) } = this.spec; // elsewhere clients need another URL than `mcpUrl`
    return this.virtual.config.oidc_config?.resourceURL ?? (local ? this.mcpUrl : undefined);
  }

  /** Loaded only where a configuration asks for it. */
  async #openAuthServer(config: GatewayConfig): Promise<AuthServer> {
    const { AuthServer: Server } = await import('../authserver/auth-server.ts');
    const { strategies, env, refusals, onAuthServerEvent, observeUpstream } = this.#deps;
    return Server.open(config, {
      now: strategies.now,
      random: randomPool(),
      env,
      outbound: createOutbound,
      readSecret: strategies.readSecret,
      emit: auditTo<AuthServerEvent>(this.#log, onAuthServerEvent, refusals, (event, facts) => {
        const { current } = this.#audit;
        return current !== undefined && writeAuthServerEvent(current, event, facts);
      }),
      observeUpstream,
      pageUrl: () => pageUrlOf(this.#clientUrl()),
      onLoginEnded: (tsid: string) => {
        endStreamsOf(this.virtual, tsid);
        this.virtual.replica?.mailbox.broadcast('login', { tsid });
      },
      stateDir: this.spec.stateDir,
      log: this.#log,
    });
  }

  #createBoundary(config: GatewayConfig): Boundary {
    const { strategies, apiServer, rootAlias, onAuthentication } = this.#deps;
    return boundaryOf(config, this.mcpUrl, {
      log: this.#log,
      now: strategies.now,
      exposed: !isLoopback(this.spec.host),
      apiServer,
      rootAlias,
      embedded: this.#authServer.next,
      readSecret: strategies.readSecret,
      onOutcome: onAuthentication,
    });
  }

  #createVirtual(): VirtualServer {
    const deps = this.#deps;
    const { metrics, budgets, onOverBudget, createTransport, unserved, strategies, onAuthentication } = deps;
    const { rateLimits, refusals, observeWebhook } = deps;
    const virtual = new VirtualServer(this.spec.config, {
      log: this.#log,
      refusals,
      now: strategies.now,
      random: Math.random,
      newId: randomUUID,
      createTransport,
      ...unserved,
      loginProblems: () => this.#authServer.current?.problems() ?? [],
      createAuthenticator: (backend, auth) =>
        auth === undefined || auth.type === 'unauthenticated'
          ? deps.authenticator
          : createAuthenticator(auth, {
              ...strategies,
              upstreamTokens: this.#authServer.current?.upstreamTokens ?? strategies.upstreamTokens,
              backend: backend.name,
              backendUrl: backend.url ?? '',
            }),
      metrics,
      tracing: this.#telemetry,
      createPolicies: (current) =>
        policiesOf(current, {
          ...strategies,
          log: deps.log,
          observeWebhook,
          buckets: this.#buckets.current,
          rateLimits,
        }),
      rulesOf: clientRulesOf,
      budgets,
      onOverBudget,
      onForeignSession: () => {
        onAuthentication('foreign_session');
      },
      onSessionEnd: (session, reason) => {
        if (this.#audit.current) sessionEnded(this.#audit.current, session, reason);
      },
      boundary: this.#boundary,
    });
    virtual.onReplica(({ mailbox }) => {
      mailbox.on('login', ({ tsid }) => {
        endStreamsOf(virtual, tsid);
      });
    });
    const { current: store } = this.#storage;
    if (store) virtual.useStore(store);
    return virtual;
  }
}

/** Without its audit log a server does not start. */
export function auditFault(error: unknown): never {
  throw error instanceof AuditUnusable ? new BoundaryImpossible(error) : error;
}

function impossible(error: unknown): never {
  throw new BoundaryImpossible(error);
}

const exportDeps = ({
  log,
  version,
  instanceId,
  exportedMetrics,
  strategies,
  env,
  onTelemetryDropped,
}: PublicServerDeps) => ({
  log,
  version,
  instanceId,
  metrics: exportedMetrics,
  now: strategies.now,
  random: Math.random,
  env,
  readSecret: strategies.readSecret,
  onDropped: onTelemetryDropped,
});

/** Returns the URL host at which this machine reaches a listener on `host`. */
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
