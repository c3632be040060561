import type { AuditOutputs } from '../audit/outputs.ts';
import type { AuthServerDeps } from '../authserver/auth-server.ts';
import type { Backend, Operational } from '../contract/gateway-config.ts';
import type { Logger } from '../contract/logger.ts';
import type { ApiServer } from '../kube/api-server.ts';
import type { Authenticator, StrategyDeps } from '../outgoing/authenticator.ts';
import type { PolicyDeps } from '../policy/policy.ts';
import type { RateLimitObserver } from '../policy/rate-limit/buckets.ts';
import type { CallObserver } from '../telemetry/call-observer.ts';
import type { RefusalLog } from '../telemetry/refusal-log.ts';
import type { ExportedMetrics } from '../telemetry/server-metrics.ts';
import type { Budgets, OnBudgetRefusal } from '../vmcp/budgets/account.ts';
import type { Transport } from '../vmcp/transport/channel.ts';
import type { VirtualServerDeps } from '../vmcp/virtual-server-deps.ts';

/** Services of the process for one virtual server. */
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
