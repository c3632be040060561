import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { durationMs } from '../contract/fields.ts';
import type { Identity } from '../contract/identity.ts';
import type { Backend, GatewayConfig, Operational, OutgoingEntry } from '../contract/gateway-config.ts';
import type { Problem } from '../contract/problem.ts';
import type { ClientEnvelope } from '../http/json-scan.ts';
import type { Policy, SessionFacts } from '../policy/policy.ts';
import type { CallObserver } from '../telemetry/call-observer.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { Answer } from './answers/answer.ts';
import { ObservedAnswer } from './answers/observed-answer.ts';
import { Fleet } from './backends/fleet.ts';
import type { ConfiguredBackend } from './backends/fleet-options.ts';
import { Account, type Budgets } from './budgets/account.ts';
import type { Budget } from './budgets/limits.ts';
import { announce, digestsOf } from './announce.ts';
import { Forwarder } from './calls/forwarder.ts';
import { isModern } from './era.ts';
import { beginTrace, type TracedSession } from './calls/trace-propagation.ts';
import { relay } from './relay.ts';
import type { Boundary } from '../incoming/boundary.ts';
import type { Authenticator } from '../outgoing/authenticator.ts';
import {
  closeChannel,
  closeIdleChannels,
  isListening,
  Sessions,
  type ClientFacts,
  type Session,
  type SessionEnd,
} from './session.ts';
import type { LaunchState } from '../workloads/runner/runner.ts';
import type { Transport } from './transport/channel.ts';
import type { ReadableView } from './views/readable-view.ts';
import { isListed } from './views/listed.ts';
import { unmatchedTools } from './views/unmatched-tools.ts';
import { Views } from './views/views.ts';
import type { Logger } from '../contract/logger.ts';

export interface VirtualServerDeps {
  readonly log: Logger;
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
  readonly budgets: Budgets;
  /** Called when a request, a reply or a call exceeds a budget. */
  readonly onOverBudget: (budget: Budget) => void;
  /** Returns the state of a backend's process, where the gateway does not start it itself. */
  readonly launchState?: ((backend: string) => LaunchState | undefined) | undefined;
  /** Returns a problem for each member of the group that is not served. */
  readonly leftOut?: (() => readonly Problem[]) | undefined;
  /** Called when a client presents the session id of another principal. */
  readonly onForeignSession: () => void;
  /** Called once for each session that has ended. */
  readonly onSessionEnd?:
    ((session: SessionFacts & { readonly identity: Identity | undefined }, reason: SessionEnd) => void) | undefined;
  /** The current authentication boundary. */
  readonly boundary: { readonly current: Pick<Boundary, 'challenge' | 'liveness' | 'status'> };
}

const SESSION_LIMIT = 20_000;
const SESSION_TTL = '30m';
const SWEEP_EVERY_MS = 30_000;
const CHANNEL_IDLE_MS = 600_000;

/** One VirtualMCPServer at run time: backends, views and client sessions. */
export class VirtualServer {
  readonly sessions: Sessions;
  readonly fleet: Fleet;
  readonly views: Views;
  readonly calls: Forwarder;
  readonly #createPolicies: VirtualServerDeps['createPolicies'];
  readonly #boundary: VirtualServerDeps['boundary'];
  readonly #observer: CallObserver;
  readonly #tracing: VirtualServerDeps['tracing'];
  /** ms since the epoch. */
  readonly now: () => number;
  readonly #leftOut: VirtualServerDeps['leftOut'];
  readonly log: Logger;
  /** Counts a request that exceeds a budget. */
  readonly refused: (budget: Budget) => void;
  readonly #budgets: Budgets;
  /** Problems of the newest configuration; while there are any, the previous configuration stays in use. */
  configurationProblems: readonly Problem[] = [];
  #config: GatewayConfig;
  #awaitsBackends: boolean;
  #passthrough: readonly string[];
  #draining = false;
  readonly #onDrain: (() => void)[] = [];
  #loggedUnmatched: readonly Problem[] = [];
  readonly #sweeper: NodeJS.Timeout;

  constructor(config: GatewayConfig, deps: VirtualServerDeps) {
    this.#config = config;
    this.#awaitsBackends = config.vmcp.cluster !== undefined;
    this.#passthrough = (config.vmcp.passthrough_headers ?? []).map((name) => name.toLowerCase());
    this.log = deps.log;
    this.#boundary = deps.boundary;
    this.#observer = deps.metrics;
    this.#tracing = deps.tracing;
    this.now = deps.now;
    this.#budgets = deps.budgets;
    this.refused = deps.onOverBudget;
    this.#leftOut = deps.leftOut;
    this.sessions = new Sessions({
      ttlMs: durationMs(config.vmcp.session_ttl ?? SESSION_TTL),
      limit: SESSION_LIMIT,
      now: deps.now,
      newId: deps.newId,
      accountOf: (principal) => this.accountOf(principal),
      onForeign: deps.onForeignSession,
      onEnd: (session, reason) => {
        this.#release(session);
        if (!isModern(session.revision)) deps.onSessionEnd?.(session, reason);
      },
    });
    this.fleet = new Fleet({
      ...deps,
      onMessage: relay,
      onChange: () => {
        this.views.invalidate();
      },
      onPersonalListChanged: (backend, principal) => {
        this.#personalListChanged(backend, principal);
      },
    });
    this.#createPolicies = deps.createPolicies;
    this.calls = new Forwarder({ fleet: this.fleet, observer: deps.metrics, now: deps.now, log: deps.log });
    this.calls.policies = deps.createPolicies(config);
    this.views = new Views(config, {
      policies: () => this.calls.policies,
      fleet: this.fleet,
      log: deps.log,
      now: deps.now,
      onChange: () => {
        this.#viewsChanged();
      },
      onPrincipalChange: (principal) => {
        this.#announce(this.sessions.ofPrincipal(principal));
      },
    });
    this.fleet.replace(configuredBackends(config), config.vmcp.operational);
    this.#sweeper = setInterval(
      () => {
        this.sessions.sweep();
        this.views.sweep((principal) => this.sessions.ofPrincipal(principal).size > 0);
        for (const session of this.sessions.all()) closeIdleChannels(session, deps.now() - CHANNEL_IDLE_MS);
      },
      Math.min(SWEEP_EVERY_MS, this.sessions.ttlMs / 2),
    );
    this.#sweeper.unref();
  }

  get name(): string {
    return this.#config.name ?? '';
  }

  get config(): GatewayConfig {
    return this.#config;
  }

  get failsOnPartial(): boolean {
    return this.#config.vmcp.operational.failure_handling.partial_failure_mode === 'fail';
  }

  /** Names of the client headers that are forwarded to backends, in lower case. */
  get passthroughHeaders(): readonly string[] {
    return this.#passthrough;
  }

  /** Names of the clients whose version header may be older than the revision of their requests. */
  get olderVersionHeaderClients(): readonly string[] {
    return this.#config.vmcp.older_version_header_clients ?? [];
  }

  /** Readiness of the authentication boundary, with the reason when it is not ready. */
  get incoming(): ReturnType<Boundary['status']> {
    return this.#boundary.current.status();
  }

  /** Answers 401: the client must log in again; with `scopes` 403: it must log in with more scopes. */
  readonly challenge = (res: ServerResponse, description: string, scopes?: readonly string[]): void => {
    this.#boundary.current.challenge(res, description, scopes);
  };

  /** Checks whether a client that was authenticated before is still valid. */
  liveness(identity: Identity | undefined): ReturnType<Boundary['liveness']> {
    return this.#boundary.current.liveness(identity);
  }

  /** Lists a problem for each member of the group that is not served. */
  leftOut(): readonly Problem[] {
    return this.#leftOut?.() ?? [];
  }

  /** Lists the tool names in policies that no tool has, as soon as the tools are known. */
  unmatchedTools(): readonly Problem[] {
    const { fleet, views, calls } = this;
    if (!calls.policies.some(({ namedTools = [] }) => namedTools.length > 0)) return [];
    if (!fleet.settled || this.#awaitsBackends || views.shared.hasConflicts) return [];
    const unread = [...views.shared.current.unavailable, ...fleet.personal];
    return unmatchedTools(calls.policies, views.shared.current, this.#config.vmcp.aggregation, unread);
  }

  #viewsChanged(): void {
    const problems = this.unmatchedTools();
    if (!isDeepStrictEqual(problems, this.#loggedUnmatched)) {
      for (const { reason, path, message: problem } of problems)
        this.log.warn('a policy names an unknown tool', { reason, path, problem });
    }
    this.#loggedUnmatched = problems;
    this.#announce(this.sessions.all());
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** True until the cluster has delivered the list of backends. */
  get awaitsBackends(): boolean {
    return this.#awaitsBackends;
  }

  /** Returns an answer that is observed until the client has it, and traced when the request is sampled. */
  observe(
    answer: Answer,
    method: string,
    session: TracedSession | undefined,
    body: Buffer,
    envelope: ClientEnvelope,
    headers: IncomingHttpHeaders,
  ): ObservedAnswer {
    const tracing = this.#tracing?.tracing;
    const trace = tracing && beginTrace(tracing, method, session, body, envelope, headers);
    return new ObservedAnswer(answer, method, session?.revision, this.#observer, this.now, trace);
  }

  accountOf(principal: string): Account {
    return new Account(principal, this.#budgets, this.refused);
  }

  get runningCalls(): number {
    let running = 0;
    for (const session of this.sessions.all()) running += session.running.size;
    return running;
  }

  /** Returns the view of the session's principal. */
  view(session: Session): ReadableView {
    return this.views.of(session);
  }

  openSession(principal: string, identity: Identity | undefined, client: ClientFacts): Session {
    const session = this.sessions.create(principal, client);
    session.identity = identity;
    session.seen = digestsOf(this.views.listed(session));
    return session;
  }

  /** Called when the client opens a stream for notifications: announces changed lists and opens the streams of backends. */
  listen(session: Session): void {
    announce(session, digestsOf(this.views.listed(session)));
    for (const { channel } of session.channels.values()) channel?.listen();
    for (const backend of this.fleet.personal) this.#openForPrincipal(session, backend);
  }

  setLogLevel(session: Session, level: number): void {
    session.logLevel = level;
    for (const [name, { channel }] of session.channels) {
      if (channel?.alive) this.fleet.runtime(name)?.sendLogLevel(session, channel);
    }
  }

  /** Sends a notification of the client to every backend with an open channel. */
  notifyBackends(session: Session, message: Buffer): void {
    for (const { channel } of session.channels.values()) if (channel?.alive) channel.send(message);
  }

  /** Applies a new configuration. Sessions stay, and so do backends whose configuration is unchanged. */
  swap(config: GatewayConfig): void {
    const before = this.#config;
    this.#config = config;
    this.#awaitsBackends = false;
    this.#passthrough = (config.vmcp.passthrough_headers ?? []).map((name) => name.toLowerCase());
    const keep = isDeepStrictEqual(before.vmcp.operational, config.vmcp.operational);
    this.sessions.ttlMs = durationMs(config.vmcp.session_ttl ?? SESSION_TTL);
    for (const gone of this.fleet.replace(configuredBackends(config), config.vmcp.operational, keep)) {
      this.fleet.retire(gone);
      this.views.forget(gone.name);
      const isReplaced = this.fleet.runtime(gone.name) !== undefined;
      for (const { channels, subscriptions } of this.sessions.all()) {
        if (!isReplaced) subscriptions.deleteOf(gone.name);
        const held = channels.get(gone.name);
        if (!held || !channels.delete(gone.name)) continue;
        if (held.channel) gone.discard(held.channel);
      }
    }
    this.calls.policies = this.#createPolicies(config);
    this.#endDeniedSubscriptions();
    this.views.swap(config);
  }

  #endDeniedSubscriptions(): void {
    const { policies } = this.calls;
    for (const session of this.sessions.all()) {
      session.subscriptions.keep((name, backend) =>
        isListed({ kind: 'resources', name, backend, json: undefined }, session, policies),
      );
      for (const listener of session.listeners ?? []) listener.policiesChanged();
    }
  }

  endSessions(): void {
    for (const session of [...this.sessions.all()]) this.sessions.end(session, 'closed');
  }

  refuseSessions(): void {
    this.#draining = true;
    for (const callback of this.#onDrain) callback();
  }

  /** Calls back when the server stops taking new sessions. */
  onDrain(callback: () => void): void {
    this.#onDrain.push(callback);
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    this.endSessions();
    await this.fleet.close();
  }

  #announce(sessions: Iterable<Session>): void {
    for (const session of sessions) if (isListening(session)) announce(session, digestsOf(this.views.listed(session)));
  }

  /**
   * Opens a backend for one connected session of each principal, which then receives list changes for that principal.
   */
  #openForPrincipal(session: Session, backend: string): void {
    for (const other of this.sessions.ofPrincipal(session.principal)) {
      const held = other.channels.get(backend);
      if (isListening(other) && (held?.channel?.alive === true || held?.opening)) return;
    }
    this.fleet.open(session, backend);
  }

  /**
   * Reads changed lists again for principals with a connected session. Other principals read them at their next
   * request.
   */
  #personalListChanged(backend: string, principal: string | undefined): void {
    this.views.listChanged(backend, principal, (name) => {
      const listening = [...this.sessions.ofPrincipal(name)].find(isListening);
      if (listening) void this.views.read(listening, backend);
    });
  }

  #release(session: Session): void {
    const { revision, startedAt } = session;
    if (!isModern(revision)) this.#observer.sessionEnded?.({ revision, durationMs: this.now() - startedAt });
    for (const listener of session.listeners ?? []) listener.end();
    for (const call of session.running) call.cancel('the session ended');
    for (const name of [...session.channels.keys()]) closeChannel(session, name);
    session.streams.end();
    session.subscriptions.clear();
  }
}

const configuredBackends = ({ vmcp }: GatewayConfig): ConfiguredBackend[] =>
  vmcp.backends.map((config) => ({ config, auth: vmcp.outgoing_auth?.[config.name] }));
