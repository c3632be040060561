import { randomUUID } from 'node:crypto';
import { writeAuthServerEvent } from './audit/auth-server-events.ts';
import { AuditSlot } from './audit/open-audit.ts';
import type { AuditOutputs } from './audit/outputs.ts';
import { sessionEnded } from './audit/session-events.ts';
import { AuditUnusable } from './audit/unusable.ts';
import type { AuthServer, AuthServerDeps } from './authserver/auth-server.ts';
import type { AuthServerEvent } from './authserver/events.ts';
import { randomPool } from './authserver/keys/random-pool.ts';
import type { Backend, GatewayConfig, Operational } from './contract/gateway-config.ts';
import type { ApiServer } from './kube/api-server.ts';
import { BoundaryImpossible } from './incoming/boundary-of.ts';
import type { Boundary } from './incoming/boundary.ts';
import { pageUrlOf } from './landing/landing.ts';
import { createOutbound } from './outbound/fetch.ts';
import { createAuthenticator } from './outgoing/index.ts';
import type { Authenticator, StrategyDeps } from './outgoing/authenticator.ts';
import { clientRulesOf } from './client-rules.ts';
import { policiesOf } from './policies-of.ts';
import type { PolicyDeps } from './policy/policy.ts';
import type { RateLimitObserver } from './policy/rate-limit/buckets.ts';
import { RateBuckets } from './rate-buckets.ts';
import { SessionStorage } from './session-storage.ts';
import type { RefusalLog } from './telemetry/refusal-log.ts';
import { auditTo } from './telemetry/audit-log.ts';
import type { CallObserver } from './telemetry/call-observer.ts';
import type { CurrentExport } from './telemetry/current-export.ts';
import type { ExportedMetrics } from './telemetry/server-metrics.ts';
import type { Budgets, OnBudgetRefusal } from './vmcp/budgets/account.ts';
import type { Transport } from './vmcp/transport/channel.ts';
import { VirtualServer } from './vmcp/virtual-server.ts';
import type { VirtualServerDeps } from './vmcp/virtual-server-deps.ts';
import { withFields, type Logger } from './contract/logger.ts';
import type { PublicPaths } from './contract/paths/public-paths.ts';

export interface PublicServerDeps {
  readonly log: Logger;
  readonly version: string;
  readonly requestIdPrefix: string;
  /** Command that starts vmcp in the current folder of the user. */
  readonly program?: string | undefined;
  /** Origins of pages that may call, beside those of the configuration. */
  readonly allowedOrigins?: readonly string[] | undefined;
  readonly refusals: RefusalLog;
  readonly metrics: CallObserver;
  /** Budgets of the whole process. */
  readonly budgets: Budgets;
  readonly onOverBudget: OnBudgetRefusal;
  readonly onAuditDropped: (reason: string) => void;
  readonly auditOutputs: AuditOutputs;
  readonly onAuthentication: (outcome: string) => void;
  readonly onAuthServerEvent: (event: string) => void;
  readonly observeUpstream: AuthServerDeps['observeUpstream'];
  readonly rateLimits: RateLimitObserver;
  /** Counts telemetry that did not reach the collector, by signal. */
  readonly onTelemetryDropped: (signal: string, count: number) => void;
  readonly exportedMetrics: ExportedMetrics;
  /** `service.instance.id` of this process. */
  readonly instanceId: string;
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

/** What judges the requests of one server; each part is replaced while the server runs. */
export interface CurrentGate {
  readonly boundary: { current: Boundary };
  readonly authServer: { current: AuthServer | undefined };
  onLoginEnded: (tsid: string) => void;
  clientUrl: () => string | undefined;
  readonly program: string | undefined;
  readonly paths: { current: PublicPaths };
  readonly audit: AuditSlot;
}

export const openAudit = (
  config: GatewayConfig,
  { auditOutputs, strategies, onAuditDropped }: PublicServerDeps,
): Promise<AuditSlot> =>
  AuditSlot.open(config, auditOutputs, { now: strategies.now, onDropped: onAuditDropped }).catch(auditFault);

/** Loaded only where a configuration asks for it. Rejects with `BoundaryImpossible`. */
export async function openAuthServer(
  { config, stateDir }: { readonly config: GatewayConfig; readonly stateDir?: string | undefined },
  { log, strategies, env, refusals, onAuthServerEvent, observeUpstream }: PublicServerDeps,
  gate: Pick<CurrentGate, 'onLoginEnded' | 'audit' | 'clientUrl'>,
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
    emit: auditTo<AuthServerEvent>(child, onAuthServerEvent, refusals, (event, facts) => {
      const { current } = gate.audit;
      return current !== undefined && writeAuthServerEvent(current, event, facts);
    }),
    observeUpstream,
    pageUrl: () => pageUrlOf(gate.clientUrl()),
    onLoginEnded: (tsid: string) => {
      gate.onLoginEnded(tsid);
    },
    stateDir,
    log: child,
  };
  return Server.open(config, deps).catch(impossible);
}

/** Rejects with `BoundaryImpossible`. */
export async function openBuckets(
  config: GatewayConfig,
  { log, env, rateLimits }: PublicServerDeps,
): Promise<RateBuckets> {
  const buckets = new RateBuckets({ log: withFields(log, { server: config.name }), env, observer: rateLimits });
  (await buckets.prepare(config).catch(impossible)).apply();
  return buckets;
}

/** Rejects with `BoundaryImpossible`. */
export async function openSessionStorage(
  config: GatewayConfig,
  { log, env }: PublicServerDeps,
  virtual: VirtualServer,
): Promise<SessionStorage> {
  const storage = new SessionStorage({ log: withFields(log, { server: config.name }), env });
  const prepared = await storage
    .prepare(config, (store) => {
      virtual.useStore(store);
    })
    .catch(impossible);
  prepared.apply();
  return storage;
}

/** Without its audit log a server does not start. */
export function auditFault(error: unknown): never {
  throw error instanceof AuditUnusable ? new BoundaryImpossible(error) : error;
}

export function impossible(error: unknown): never {
  throw new BoundaryImpossible(error);
}

export const exportDeps = ({
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

export function createVirtualServer(
  config: GatewayConfig,
  deps: PublicServerDeps,
  { boundary, authServer, audit }: CurrentGate,
  buckets: RateBuckets,
  tracing: CurrentExport,
): VirtualServer {
  const { log, metrics, budgets, onOverBudget, createTransport, unserved, strategies, onAuthentication } = deps;
  const { rateLimits, refusals } = deps;
  return new VirtualServer(config, {
    log: withFields(log, { server: config.name }),
    refusals,
    now: strategies.now,
    random: Math.random,
    newId: randomUUID,
    createTransport,
    ...unserved,
    loginProblems: () => authServer.current?.problems() ?? [],
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
    tracing,
    createPolicies: (current) =>
      policiesOf(current, {
        ...strategies,
        log,
        observeWebhook: deps.observeWebhook,
        buckets: buckets.current,
        rateLimits,
      }),
    rulesOf: clientRulesOf,
    budgets,
    onOverBudget,
    onForeignSession: () => {
      onAuthentication('foreign_session');
    },
    onSessionEnd: (session, reason) => {
      if (audit.current) sessionEnded(audit.current, session, reason);
    },
    boundary,
  });
}
