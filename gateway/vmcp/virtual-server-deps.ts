import type { Backend, GatewayConfig, Operational, OutgoingEntry } from '../contract/gateway-config.ts';
import type { Identity } from '../contract/identity.ts';
import type { Logger } from '../contract/logger.ts';
import type { Problem } from '../contract/problem.ts';
import type { Boundary } from '../incoming/boundary.ts';
import type { Authenticator } from '../outgoing/authenticator.ts';
import type { Policy, SessionFacts } from '../policy/policy.ts';
import type { CallObserver } from '../telemetry/call-observer.ts';
import type { RefusalLog } from '../telemetry/refusal-log.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { LaunchState } from '../workloads/runner/runner.ts';
import type { Budgets } from './budgets/account.ts';
import type { Budget } from './budgets/limits.ts';
import type { SessionEnd } from './session.ts';
import type { Transport } from './transport/channel.ts';

/** Dependencies of a virtual server. */
export interface VirtualServerDeps {
  readonly log: Logger;
  /** Log of what clients can cause as often as they like. */
  readonly refusals: Pick<RefusalLog, 'write'>;
  readonly now: () => number;
  readonly random: () => number;
  readonly newId: () => string;
  readonly createTransport: (backend: Backend, operational: Operational) => Transport;
  readonly createAuthenticator: (backend: Backend, auth: OutgoingEntry | undefined) => Authenticator | undefined;
  readonly metrics: CallObserver;
  /** Traces of the current configuration; absent where none are exported. */
  readonly tracing?: { readonly tracing: Tracing | undefined } | undefined;
  /** Creates the policies that a configuration turns on, in the order in which they decide. */
  readonly createPolicies: (config: GatewayConfig) => readonly Policy[];
  /** Returns a digest of the rules that decide which clients a configuration accepts. */
  readonly rulesOf: (config: GatewayConfig) => string;
  readonly budgets: Budgets;
  /** Called when a request, a reply or a call exceeds a budget. */
  readonly onOverBudget: (budget: Budget) => void;
  /** Returns the state of a backend's process, where the gateway does not start it itself. */
  readonly launchState?: ((backend: string) => LaunchState | undefined) | undefined;
  /** Returns a problem for each member of the group that is not served. */
  readonly leftOut?: (() => readonly Problem[]) | undefined;
  /** Lists the problems that the authorization server has found while it runs. */
  readonly loginProblems?: (() => readonly Problem[]) | undefined;
  /** Called when a client presents the session id of another principal. */
  readonly onForeignSession: () => void;
  /** Called once for each session that has ended. */
  readonly onSessionEnd?:
    | ((session: SessionFacts & { readonly identity: Identity | undefined }, reason: SessionEnd) => void)
    | undefined;
  /** The current authentication boundary. */
  readonly boundary: { readonly current: Pick<Boundary, 'challenge' | 'liveness' | 'status'> };
}
