import type { ServerResponse } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { durationMs } from '../contract/fields.ts';
import type { Identity } from '../contract/identity.ts';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import type { Problem } from '../contract/problem.ts';
import type { CallObserver } from '../telemetry/call-observer.ts';
import type { Answer } from './answers/answer.ts';
import { ObservedAnswer } from './answers/observed-answer.ts';
import { sessionsElsewhere } from './backends/backend-sessions.ts';
import { Fleet } from './backends/fleet.ts';
import { configuredBackends } from './backends/configured-backends.ts';
import { applyLogLevel, notifier } from './backends/session-channels.ts';
import { Account, type Budgets } from './budgets/account.ts';
import type { Budget } from './budgets/limits.ts';
import { announce, digestsOf } from './announce.ts';
import { Forwarder } from './calls/forwarder.ts';
import { beginTrace, type TracedMessage, type TracedSession } from './calls/trace-propagation.ts';
import { relay } from './relay.ts';
import { CurrentReplica } from './replicas/current-replica.ts';
import type { Replica } from './replicas/replica.ts';
import type { KeyValueStore } from '../kvstore/key-value-store.ts';
import type { Boundary } from '../incoming/boundary.ts';
import { closeIdleChannels, isBusy, isListening, Sessions, type ClientFacts, type Session } from './session.ts';
import { ended } from './session-end.ts';
import type { ReadableView } from './views/readable-view.ts';
import { isListed } from './views/listed.ts';
import { unmatchedTools } from './views/unmatched-tools.ts';
import { Views } from './views/views.ts';
import type { Logger } from '../contract/logger.ts';
import type { VirtualServerDeps } from './virtual-server-deps.ts';

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
  readonly #observing: { readonly observer: CallObserver; readonly now: () => number };
  readonly #tracing: VirtualServerDeps['tracing'];
  /** ms since the epoch. */
  readonly now: () => number;
  readonly #leftOut: VirtualServerDeps['leftOut'];
  readonly #loginProblems: VirtualServerDeps['loginProblems'];
  readonly log: Logger;
  readonly refusals: VirtualServerDeps['refusals'];
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
  readonly #replicas: CurrentReplica;
  #loggedUnmatched: readonly Problem[] = [];
  #sweeper: NodeJS.Timeout;

  constructor(config: GatewayConfig, deps: VirtualServerDeps) {
    this.#config = config;
    this.#awaitsBackends = config.vmcp.cluster !== undefined;
    this.#passthrough = (config.vmcp.passthrough_headers ?? []).map((name) => name.toLowerCase());
    this.log = deps.log;
    this.refusals = deps.refusals;
    this.#boundary = deps.boundary;
    this.#observing = { observer: deps.metrics, now: deps.now };
    this.#tracing = deps.tracing;
    this.now = deps.now;
    this.#budgets = deps.budgets;
    this.refused = deps.onOverBudget;
    this.#leftOut = deps.leftOut;
    this.#loginProblems = deps.loginProblems;
    this.sessions = this.#newSessions(deps);
    this.#replicas = this.#newReplicas(deps);
    this.fleet = this.#newFleet(deps);
    this.#createPolicies = deps.createPolicies;
    this.calls = new Forwarder({ fleet: this.fleet, observer: deps.metrics, now: deps.now, log: deps.log });
    this.calls.policies = deps.createPolicies(config);
    this.views = this.#newViews(deps);
    this.fleet.replace(configuredBackends(config), config.vmcp.operational);
    this.#sweeper = this.#startSweeper();
  }

  #newSessions(deps: VirtualServerDeps): Sessions {
    return new Sessions({
      ttlMs: durationMs(this.#config.vmcp.session_ttl ?? SESSION_TTL),
      limit: SESSION_LIMIT,
      now: deps.now,
      newId: deps.newId,
      accountOf: (principal) => this.accountOf(principal),
      onForeign: deps.onForeignSession,
      share: (id) => this.replica?.sessions.share(id),
      onIdle: (session) => {
        this.replica?.sessions.release(session).catch(() => undefined); // the next sweep tries again
      },
      onEnd: (session, reason) => {
        ended(session, reason, { ...deps, fleet: this.fleet, replica: this.replica });
      },
    });
  }

  #newReplicas({ now, log, rulesOf, onForeignSession }: VirtualServerDeps): CurrentReplica {
    return new CurrentReplica({
      sessions: this.sessions,
      now,
      log,
      rules: () => rulesOf(this.#config),
      onForeign: onForeignSession,
      openBackend: (session, backend) => this.fleet.open(session, backend),
      onLevel: (session, level) => {
        applyLogLevel(this.fleet, session, level, true);
      },
      onListsChanged: (backend, principal) => {
        this.#personalListChanged(backend, principal);
      },
    });
  }

  #newFleet(deps: VirtualServerDeps): Fleet {
    return new Fleet({
      ...deps,
      backendSessions: () => this.replica?.backends,
      onMessage: (from) => {
        // with `none` all names stay as the backends choose them
        relay(from, this.#config.vmcp.aggregation.conflict_resolution !== 'none');
      },
      onChange: () => {
        this.views.invalidate();
      },
      onPersonalListChanged: (backend, principal) => {
        this.#personalListChanged(backend, principal);
        if (principal !== undefined) this.replica?.mailbox.broadcast('lists', { backend, principal });
      },
    });
  }

  #newViews(deps: VirtualServerDeps): Views {
    return new Views(this.#config, {
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
  }

  #startSweeper(): NodeJS.Timeout {
    const sweep = (): void => {
      this.#sweep();
    };
    return setInterval(sweep, Math.min(SWEEP_EVERY_MS, this.sessions.unusedTtlMs / 2)).unref();
  }

  #sweep(): void {
    this.sessions.sweep();
    this.views.sweep((principal) => this.sessions.ofPrincipal(principal).size > 0);
    this.views.renewAwaited(this.sessions.all());
    const idleSince = this.now() - CHANNEL_IDLE_MS;
    for (const session of this.sessions.all()) {
      closeIdleChannels(session, idleSince);
      if (isBusy(session)) this.replica?.sessions.keepBusy(session);
    }
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

  /** Lists the problems of logins that only the running server can find. */
  loginProblems(): readonly Problem[] {
    return this.#loginProblems?.() ?? [];
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
      const known = new Set(this.#loggedUnmatched.map(({ message }) => message));
      for (const { reason, path, message: problem } of problems.filter(({ message }) => !known.has(message)))
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
  observe(answer: Answer, method: string, session: TracedSession | undefined, message: TracedMessage): ObservedAnswer {
    const tracing = this.#tracing?.tracing;
    const trace = tracing && beginTrace(tracing, method, session, message);
    return new ObservedAnswer(answer, method, session?.revision, this.#observing, trace);
  }

  accountOf(principal: string): Account {
    return new Account(principal, this.#budgets, this.refused);
  }

  /** This process among the replicas that share sessions; undefined while it keeps its own. */
  get replica(): Replica | undefined {
    return this.#replicas.current;
  }

  /** Shares sessions through `store` from now on; undefined: no longer. Sessions so far end here. */
  useStore(store: KeyValueStore | undefined): void {
    this.releaseSessions();
    this.#replicas.use(store);
  }

  /** Calls back with the replica that this process is, now and whenever it changes. */
  onReplica(callback: (replica: Replica) => void): void {
    this.#replicas.onChange(callback);
  }

  /** Number of calls whose replies this process sends to clients. */
  get runningCalls(): number {
    let running = this.replica?.connections.running ?? 0;
    for (const session of this.sessions.all()) running += session.running.size;
    return running;
  }

  /** Returns the view of the session's principal. */
  view(session: Session): ReadableView {
    return this.views.of(session);
  }

  /** Throws `TooManySessions`. `connection` is the id of a session of HTTP+SSE (2024-11-05) that replicas share. */
  openSession(principal: string, identity: Identity | undefined, client: ClientFacts, connection?: string): Session {
    const session = this.sessions.create(principal, client, connection);
    session.identity = identity;
    void this.fleet.renewal.requested(session); // its first list waits for the reading
    session.seen = digestsOf(this.views.listed(session));
    return session;
  }

  /**
   * Ends a session for all replicas, also at the backends that only other replicas have used. Rejects with
   * `KeyValueStoreUnavailable`.
   */
  async endSession(session: Session): Promise<void> {
    const ended = session.shared && (await this.replica?.sessions.end(session.id));
    const others = sessionsElsewhere(session);
    this.sessions.end(session, ended?.isFirst === false ? 'released' : 'deleted');
    this.fleet.endSessions(session, others(ended?.record?.backends));
  }

  /** Called when the client opens a stream for notifications: announces changed lists and opens the streams of backends. */
  listen(session: Session): void {
    this.#announceTo(session);
    for (const { channel } of session.channels.values()) channel?.listen();
    for (const backend of this.fleet.personal) this.#openForPrincipal(session, backend);
  }

  setLogLevel(session: Session, level: number): void {
    applyLogLevel(this.fleet, session, level);
    if (session.shared) this.replica?.levelSet(session);
  }

  /** Sends a notification of the client to every backend that has a channel, at this replica or at another one. */
  notifyBackends(session: Session, message: Buffer): void {
    const send = notifier(session, message);
    send();
    if (session.shared) this.replica?.notifyBackends(session, message).then(send, () => undefined);
  }

  /** Applies a new configuration. Sessions stay, and so do backends whose configuration is unchanged. */
  swap(config: GatewayConfig): void {
    const before = this.#config;
    this.#config = config;
    this.#awaitsBackends = false;
    this.#passthrough = (config.vmcp.passthrough_headers ?? []).map((name) => name.toLowerCase());
    const keep = isDeepStrictEqual(before.vmcp.operational, config.vmcp.operational);
    this.sessions.ttlMs = durationMs(config.vmcp.session_ttl ?? SESSION_TTL);
    clearInterval(this.#sweeper);
    this.#sweeper = this.#startSweeper();
    for (const gone of this.fleet.replace(configuredBackends(config), config.vmcp.operational, keep)) {
      this.fleet.retire(gone);
      this.views.forget(gone.name);
      const isReplaced = this.fleet.runtime(gone.name) !== undefined;
      for (const session of this.sessions.all()) {
        const { channels, subscriptions, shared } = session;
        if (!isReplaced) subscriptions.deleteOf(gone.name);
        const held = channels.get(gone.name);
        if (!held || !channels.delete(gone.name)) continue;
        if (held.channel) gone.discard(held.channel, shared !== undefined);
        if (subscriptions.backends().has(gone.name)) void this.fleet.open(session, gone.name);
      }
    }
    this.calls.policies = this.#createPolicies(config);
    this.#endDeniedSubscriptions();
    this.views.swap(config);
  }

  /** Returns false for a resource that a policy hides from the client of the session. */
  shows(session: Session, name: string, backend: string): boolean {
    const json = this.view(session).current.resources.get(name)?.json;
    return isListed({ kind: 'resources', name, backend, json }, session, this.calls.policies);
  }

  #endDeniedSubscriptions(): void {
    for (const session of this.sessions.all()) {
      session.subscriptions.keep((name, backend) => this.shows(session, name, backend));
      for (const listener of session.listeners ?? []) listener.policiesChanged();
    }
  }

  endSessions(): void {
    for (const session of [...this.sessions.all()]) this.sessions.end(session, 'closed');
  }

  /** Ends the sessions here; those that replicas share go on at the others unless their only stream is here. */
  releaseSessions(): void {
    for (const session of [...this.sessions.all()]) {
      const goesOn = session.shared !== undefined && session.shared.connection !== 'here';
      this.sessions.end(session, goesOn ? 'released' : 'closed');
    }
  }

  /**
   * Refuses new sessions and ends the streams of `subscriptions/listen`: clients open them elsewhere. Lists do not wait for backends
   * that are starting any more.
   */
  refuseSessions(): void {
    this.#draining = true;
    this.fleet.endWaiting();
    for (const callback of this.#onDrain) callback();
    for (const { listeners } of this.sessions.all()) for (const listener of listeners ?? []) listener.end();
  }

  /** Calls back when the server stops taking new sessions. */
  onDrain(callback: () => void): void {
    this.#onDrain.push(callback);
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    this.releaseSessions();
    this.#replicas.close();
    await this.fleet.close();
  }

  #announce(sessions: Iterable<Session>): void {
    for (const session of sessions) if (isListening(session)) this.#announceTo(session);
  }

  #announceTo(session: Session): void {
    const { seen } = session;
    const lists = digestsOf(this.views.listed(session));
    announce(session, lists);
    if (session.shared && session.seen === lists && !isDeepStrictEqual(seen, lists)) this.replica?.saw(session, lists);
  }

  /**
   * Opens a backend for one connected session of each principal, which then receives list changes for that principal.
   */
  #openForPrincipal(session: Session, backend: string): void {
    for (const other of this.sessions.ofPrincipal(session.principal)) {
      const held = other.channels.get(backend);
      if (isListening(other) && (held?.channel?.alive === true || held?.opening)) return;
    }
    void this.fleet.open(session, backend);
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
}
