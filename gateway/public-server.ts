import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { createPublicApp, type AppOptions } from './app.ts';
import type { AuthServer, AuthServerDeps } from './authserver/auth-server.ts';
import { randomPool } from './authserver/keys/random-pool.ts';
import type { Backend, GatewayConfig, Operational } from './contract/gateway-config.ts';
import { isLoopback, type OriginGuardOptions } from './http/origin-guard.ts';
import type { ApiServer } from './kube/api-server.ts';
import { BoundaryImpossible, boundaryOf } from './incoming/boundary-of.ts';
import type { Boundary } from './incoming/boundary.ts';
import { listen, type Listener } from './listener.ts';
import { originsOf } from './origins-of.ts';
import { createOutbound } from './outbound/fetch.ts';
import { createAuthenticator } from './outgoing/index.ts';
import type { Authenticator, StrategyDeps } from './outgoing/authenticator.ts';
import { policiesOf } from './policies-of.ts';
import type { PolicyDeps } from './policy/policy.ts';
import type { RefusalLog } from './telemetry/refusal-log.ts';
import { auditTo } from './telemetry/audit-log.ts';
import type { CallObserver } from './telemetry/call-observer.ts';
import { endStreamsOf, startHeartbeat } from './vmcp/edge/heartbeat.ts';
import type { ByteBudgets, OnBudgetRefusal } from './vmcp/budgets/account.ts';
import type { Transport } from './vmcp/transport/channel.ts';
import { VirtualServer, type VirtualServerDeps } from './vmcp/virtual-server.ts';
import { withFields, type Logger } from './contract/logger.ts';

export interface ServerSpec {
  readonly config: GatewayConfig;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** True on a developer's machine: requests must name a loopback host, `host` or an allowed host. */
  readonly local?: boolean;
}

export interface PublicServerDeps {
  readonly log: Logger;
  readonly version: string;
  readonly requestIdPrefix: string;
  readonly refusals: RefusalLog;
  readonly metrics: CallObserver;
  /** Budgets of the whole process. */
  readonly budgets: ByteBudgets;
  readonly onOverBudget: OnBudgetRefusal;
  readonly onAuthentication: (outcome: string) => void;
  readonly onAuthServerEvent: (event: string) => void;
  readonly observeUpstream: AuthServerDeps['observeUpstream'];
  readonly observeWebhook: PolicyDeps['observeWebhook'];
  /** Value of an environment variable. */
  readonly env: (name: string) => string | undefined;
  /** API server; undefined outside of a cluster. */
  readonly apiServer: ApiServer | undefined;
  /** Returns true while this is the only resource at its origin. Called for each request. */
  readonly rootAlias: () => boolean;
  readonly createTransport: (backend: Backend, operational: Operational) => Transport;
  readonly unserved: Pick<VirtualServerDeps, 'launchState' | 'leftOut'>;
  /** Interval of comments on idle streams; 30 s when absent. */
  readonly heartbeatMs?: number | undefined;
  /** Credential of every backend, in place of the strategies of the configuration. */
  readonly authenticator?: Authenticator | undefined;
  /** Dependencies of strategies except their backend. */
  readonly strategies: Omit<StrategyDeps, 'backend' | 'backendUrl'>;
}

const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** About 30 KiB each: twice as many would not fit into a pod of 768 MiB. */
const PUBLIC_CONNECTIONS = 12_000;
/** Time for which clients may keep using open connections before they are closed. */
const IDLE_GRACE_MS = 500;
const LOOK_EVERY_MS = 20;

/** One virtual server with its public listener and its boundary 1. */
export class PublicServer {
  readonly virtual: VirtualServer;
  readonly spec: ServerSpec;
  readonly #deps: PublicServerDeps;
  readonly #origins: { current: OriginGuardOptions };
  readonly #gate: CurrentGate;
  readonly #listener: Listener;
  readonly #heartbeat: NodeJS.Timeout;

  /** Rejects with `ListenError`. */
  static async start(spec: ServerSpec, deps: PublicServerDeps): Promise<PublicServer> {
    const origins = { current: originsOf(spec) };
    const gate: CurrentGate = {
      boundary: { current: UNDER_WAY },
      authServer: { current: undefined },
      onLoginEnded: () => undefined,
      clientUrl: () => undefined,
    };
    gate.authServer.current = await openAuthServer(spec.config, deps, gate);
    const virtual = virtualServer(spec.config, deps, gate);
    const options: AppOptions = {
      log: deps.log,
      origins,
      requestIdPrefix: deps.requestIdPrefix,
      refusals: deps.refusals,
    };
    const app = createPublicApp(virtual, { maxBodyBytes: MAX_BODY_BYTES, version: deps.version }, gate, options);
    let listener: Listener | undefined;
    try {
      listener = await listen(app, spec.host, spec.port, {
        maxConnections: PUBLIC_CONNECTIONS,
        onRefused: () => {
          deps.onOverBudget('connections');
        },
      });
      return new PublicServer(spec, deps, { virtual, origins, gate, listener });
    } catch (error) {
      await Promise.all([listener?.close(), virtual.close(), gate.authServer.current?.close()]);
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
      listener: Listener;
    },
  ) {
    this.spec = spec;
    this.#deps = deps;
    this.virtual = parts.virtual;
    this.#origins = parts.origins;
    this.#gate = parts.gate;
    this.#listener = parts.listener;
    this.#gate.boundary.current = this.#newBoundary(spec.config, parts.gate.authServer.current);
    this.#gate.onLoginEnded = (tsid) => {
      endStreamsOf(parts.virtual, tsid);
    };
    const isHere = spec.local ?? isLoopback(spec.host); // elsewhere clients need another URL than `mcpUrl`
    this.#gate.clientUrl = () => this.virtual.config.oidc_config?.resourceURL ?? (isHere ? this.mcpUrl : undefined);
    this.#heartbeat = startHeartbeat(parts.virtual, deps.heartbeatMs);
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
    await this.#swapGate(config, !isDeepStrictEqual(incomingOf(before), incomingOf(config)));
    this.#origins.current = originsOf({ ...spec, host: this.spec.host });
    // the new rules may reject clients that the old rules accepted
    if (!isDeepStrictEqual(admissionOf(before), admissionOf(config))) this.virtual.endSessions();
    this.virtual.swap(config);
  }

  /**
   * Drains: reports not ready and rejects new sessions; after `routesMs` rejects new connections. Running calls finish
   * within the grace period, then everything closes.
   */
  async stop(graceMs: number, routesMs = 0): Promise<void> {
    const end = performance.now() + graceMs;
    this.virtual.refuseSessions();
    if (routesMs > 0) await sleep(Math.min(routesMs, graceMs));
    this.#listener.refuseConnections();
    if (this.virtual.sessions.size > 0) await sleep(Math.min(IDLE_GRACE_MS, graceMs));
    while (this.#isBusy() && performance.now() < end) await sleep(LOOK_EVERY_MS);
    clearInterval(this.#heartbeat);
    await this.virtual.close();
    await this.#listener.close();
    this.#gate.boundary.current.close();
    await this.#gate.authServer.current?.close();
  }

  #isBusy(): boolean {
    return this.virtual.runningCalls > 0 || this.#listener.unanswered() > 0;
  }

  /** Creates the new parts before it closes the old ones. */
  async #swapGate(config: GatewayConfig, newRules: boolean): Promise<void> {
    const { authServer, boundary } = this.#gate;
    const present = authServer.current;
    const stays = present !== undefined && config.embedded_auth_server_config !== undefined;
    const next = stays ? present : await openAuthServer(config, this.#deps, this.#gate);
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

interface CurrentGate {
  readonly boundary: { current: Boundary };
  readonly authServer: { current: AuthServer | undefined };
  onLoginEnded: (tsid: string) => void;
  clientUrl: () => string | undefined;
}

/** Loaded only where a configuration asks for it. Rejects with `BoundaryImpossible`. */
async function openAuthServer(
  config: GatewayConfig,
  { log, strategies, env, refusals, onAuthServerEvent, observeUpstream }: PublicServerDeps,
  gate: Pick<CurrentGate, 'onLoginEnded'>,
): Promise<AuthServer | undefined> {
  if (!config.embedded_auth_server_config) return undefined;
  const { AuthServer: Server } = await import('./authserver/auth-server.ts');
  const child = withFields(log, { server: config.name });
  const deps = {
    now: strategies.now,
    random: randomPool(),
    env,
    outbound: createOutbound,
    readSecret: strategies.readSecret,
    emit: auditTo(child, onAuthServerEvent, refusals),
    observeUpstream,
    onLoginEnded: (tsid: string) => {
      gate.onLoginEnded(tsid);
    },
    log: child,
  };
  return Server.open(config, deps).catch(impossible);
}

function impossible(error: unknown): never {
  throw new BoundaryImpossible(error);
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
  embedded_auth_server_config,
  vmcp: { incoming },
}: GatewayConfig): unknown => ({
  name,
  oidc_config,
  incoming,
  embedded: embedded_auth_server_config !== undefined,
});

/** Returns the members that decide which clients are accepted. */
const admissionOf = ({ oidc_config: oidc, vmcp: { incoming } }: GatewayConfig): unknown => ({
  issuer: oidc?.issuer,
  audience: oidc?.audience,
  clientId: oidc?.clientID,
  keys: oidc?.jwksurl,
  ...incoming,
  allowed_hosts: undefined,
  allowed_origins: undefined,
});

function virtualServer(
  config: GatewayConfig,
  deps: PublicServerDeps,
  { boundary, authServer }: CurrentGate,
): VirtualServer {
  const { log, metrics, budgets, onOverBudget, createTransport, unserved, strategies, onAuthentication } = deps;
  return new VirtualServer(config, {
    log: withFields(log, { server: config.name }),
    now: strategies.now,
    random: Math.random,
    newId: randomUUID,
    createTransport,
    ...unserved,
    createAuthenticator: (backend, auth) =>
      auth === undefined || auth.type === 'unauthenticated'
        ? deps.authenticator
        : createAuthenticator(auth, {
            ...strategies,
            upstreamTokens: authServer.current?.upstreamTokens ?? strategies.upstreamTokens,
            backend: backend.name,
            backendUrl: backend.url ?? '',
          }),
    metrics,
    createPolicies: (current) => policiesOf(current, { ...strategies, log, observeWebhook: deps.observeWebhook }),
    budgets,
    onOverBudget,
    onForeignSession: () => {
      onAuthentication('foreign_session');
    },
    boundary,
  });
}

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
