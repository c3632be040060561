import { isDeepStrictEqual } from 'node:util';
import { durationMs } from '../../contract/fields.ts';
import type { Operational } from '../../contract/gateway-config.ts';
import type { Catalog } from '../aggregation/catalog.ts';
import type { Warning } from '../aggregation/view.ts';
import type { CredentialProblem } from '../../outgoing/credential-failures.ts';
import { createMonitor, type Monitor } from '../health/monitor.ts';
import type { HealthSnapshot } from '../health/state.ts';
import type { Session } from '../session.ts';
import type { LaunchState, StartPhase } from '../../workloads/runner/runner.ts';
import { BackendError, type BackendFailure, type BackendSession } from '../transport/channel.ts';
import { failureOfError } from '../transport/failure.ts';
import { ask } from '../transport/request-reply.ts';
import type { CatalogSource } from './catalog-source.ts';
import { BackendRuntime } from './backend.ts';
import { newFleetEntry, type FleetEntry } from './fleet-entry.ts';
import type { ConfiguredBackend, FleetOptions } from './fleet-options.ts';
import { ListRenewal, type Renewable } from './list-renewal.ts';
import { backoffMs } from '../../kit/time.ts';

const LIST_CHANGED_DEBOUNCE_MS = 250;
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 8_000;
/** Longest pause while the process of a backend starts. */
const LONGEST_START_RETRY_MS = 1_000;
/** Refused connections in a row before lists no longer wait for a backend that is starting. */
const STARTING_FAILURES = 4;
const RECHECK_AFTER_MS = 1_000;
/** Time that running calls have to finish on a replaced backend. */
const RETIRE_GRACE_MS = 30_000;

/** Backends of one virtual server with their catalogs and health. */
export class Fleet implements CatalogSource {
  /** Names of the backends with per-user credentials, sorted. */
  personal: readonly string[] = [];
  readonly #options: FleetOptions;
  readonly #entries = new Map<string, FleetEntry>();
  readonly #retiring = new Set<BackendRuntime>();
  readonly #waiting = new Set<() => void>();
  /** Reads the lists again that no backend announces. */
  readonly renewal: ListRenewal;
  #monitor: Monitor | undefined;
  #settled = false;
  #isEnding = false;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.renewal = new ListRenewal({
      backends: () => this.#renewable(),
      read: (name) => this.probed(name),
      now: options.now,
    });
  }

  get settled(): boolean {
    return this.#settled;
  }

  runtime(name: string): BackendRuntime | undefined {
    return this.#entries.get(name)?.runtime;
  }

  /** Returns the MCP revision of the last channel to the backend. */
  revision(name: string): string | undefined {
    return this.#entries.get(name)?.lists.channel?.facts.revision;
  }

  /** Catalogs of the backends that are advertised. */
  catalogs(): Catalog[] {
    return [...this.#entries.values()].flatMap((entry) =>
      entry.lists.catalog && this.isAdvertised(entry.runtime.name) ? [entry.lists.catalog] : [],
    );
  }

  /** Returns the names of the backends whose items are missing. */
  unavailable(): string[] {
    return [...this.#entries].flatMap(([name, { runtime, lists }]) =>
      (runtime.credentials.perUser || lists.catalog) && this.isAdvertised(name) ? [] : [name],
    );
  }

  *#renewable(): Iterable<Renewable> {
    for (const [name, { runtime, lists }] of this.#entries)
      if (!runtime.credentials.perUser && lists.catalog && this.isAdvertised(name)) yield { name, lists };
  }

  /** Lists the problems of the lists of advertised backends, and of those that refuse all lists. */
  listProblems(): Warning[] {
    return [...this.#entries.values()].flatMap(({ runtime, lists }) => [
      ...(this.isAdvertised(runtime.name) ? lists.warnings : []),
      ...(lists.refused ? [lists.refused] : []),
    ]);
  }

  /** Returns the cause of a backend's state in words; undefined where nothing failed. */
  cause(name: string): string | undefined {
    return this.#monitor?.cause(name);
  }

  /** Returns true when the items of a backend were read, or are read for each user. */
  isListed(name: string): boolean {
    const entry = this.#entries.get(name);
    return entry !== undefined && (entry.runtime.credentials.perUser || entry.lists.catalog !== undefined);
  }

  health(): HealthSnapshot {
    if (!this.#monitor) throw new Error('the fleet has no backends yet');
    return this.#monitor.snapshot();
  }

  /** Lists the repairs of replies of all backends. */
  repairedReplies(): Warning[] {
    return [...this.#entries.values()].flatMap(({ runtime }) => runtime.replies.problems);
  }

  /** Returns the problems of the credentials, each with the name of its backend. */
  credentialProblems(): (readonly [string, CredentialProblem])[] {
    return [...this.#entries].flatMap(([name, { runtime }]) => {
      const problem = runtime.credentialProblem;
      return problem ? [[name, problem] as const] : [];
    });
  }

  /** Returns the state of a backend's process; empty for a remote backend. */
  launchState(name: string): LaunchState {
    const entry = this.#entries.get(name);
    const other = this.#options.launchState?.(name);
    return {
      phase: entry?.runtime.startPhase ?? other?.phase,
      problem: entry?.launch ?? other?.problem,
      restart: entry?.runtime.restart ?? other?.restart,
      exit: other?.exit,
    };
  }

  checkNow(name: string): void {
    void this.probed(name);
  }

  /** Probes a backend at once, and resolves when the probe has ended. */
  async probed(name: string): Promise<void> {
    await this.#monitor?.checkNow(name);
  }

  /**
   * Replaces the backends. Returns those that were removed or replaced, to be passed to `retire`. Starts
   * a process again that had failed permanently.
   */
  replace(backends: readonly ConfiguredBackend[], operational: Operational, keepEqual = true): BackendRuntime[] {
    const removed = [...this.#entries].filter(
      ([, { runtime, auth, launch }]) =>
        !keepEqual ||
        launch?.permanent === true ||
        !backends.some((next) => isDeepStrictEqual(next, { config: runtime.config, auth })),
    );
    for (const [name] of removed) this.#entries.delete(name);
    for (const backend of backends) if (!this.#entries.has(backend.config.name)) this.#add(backend, operational);
    this.personal = [...this.#entries.values()]
      .flatMap(({ runtime }) => (runtime.credentials.perUser ? [runtime.name] : []))
      .toSorted();
    this.#restartMonitor(operational);
    this.#options.onChange();
    return removed.map(([, { runtime }]) => runtime);
  }

  /** Lets the running calls of a backend end before it is closed. Takes the backends that `replace` returned. */
  retire(runtime: BackendRuntime): void {
    this.#retiring.add(runtime);
    void runtime.retire(RETIRE_GRACE_MS).finally(() => this.#retiring.delete(runtime));
  }

  /** Resolves when every backend was probed once, after `timeoutMs`, or at `endWaiting`. */
  whenSettled(timeoutMs: number): Promise<void> {
    if (this.#settled || this.#isEnding) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      this.#waiting.add(done);
    });
  }

  /** Ends the wait of requests for backends: they continue with the backends that have answered. */
  endWaiting(): void {
    this.#isEnding = true;
    for (const done of this.#waiting) done();
  }

  async close(): Promise<void> {
    this.endWaiting();
    this.#monitor?.close();
    const runtimes = [...this.#retiring, ...[...this.#entries.values()].map(({ runtime }) => runtime)];
    await Promise.all(runtimes.map((runtime) => runtime.close()));
  }

  isAdvertised(name: string): boolean {
    return this.#monitor?.advertised(name) ?? true;
  }

  /** Opens a backend for a session. Never rejects: later calls report the error, if any. */
  async open(session: Session, name: string): Promise<void> {
    try {
      await this.runtime(name)?.channelOf(session);
    } catch (error) {
      this.#options.log.debug('cannot open a backend', { backend: name, reason: failureOfError(error).kind });
    }
  }

  /** Ends sessions at backends, by the names of these, in the background. */
  endSessions(session: Session, sessions: Iterable<readonly [string, BackendSession]>): void {
    for (const [name, resume] of sessions) void this.runtime(name)?.endSession(session, resume);
  }

  #add({ config, auth }: ConfiguredBackend, operational: Operational): void {
    const { log, now, metrics, createTransport, createAuthenticator, backendSessions, onMessage } = this.#options;
    const runtime = new BackendRuntime({
      config,
      operational,
      transport: createTransport(config, operational),
      authenticator: createAuthenticator(config, auth),
      metrics,
      log,
      now,
      backendSessions,
      onUnavailable: () => {
        const last = this.#monitor?.health(config.name)?.lastCheckAt ?? 0;
        if (now() - last > RECHECK_AFTER_MS) this.checkNow(config.name);
      },
      onListChanged: (principal) => {
        if (runtime.credentials.perUser) this.#options.onPersonalListChanged(config.name, principal);
        else this.#listChanged(config.name);
      },
      onMessage,
    });
    this.#entries.set(config.name, newFleetEntry(runtime, auth));
  }

  #restartMonitor(operational: Operational): void {
    const before = this.#monitor;
    const failures = operational.failure_handling;
    this.#monitor = createMonitor({
      backends: [...this.#entries.keys()],
      intervalMs: durationMs(failures.health_check_interval),
      timeoutMs: durationMs(failures.health_check_timeout),
      unhealthyThreshold: failures.unhealthy_threshold,
      now: this.#options.now,
      random: this.#options.random,
      previous: before,
      probe: (name, signal) => this.#probe(name, signal),
      expectsUser: (name) => this.runtime(name)?.credentials.perUser ?? false,
      circuit: (name) => this.runtime(name)?.circuit.current,
      onProbed: (name, outcome) => this.runtime(name)?.circuit.probed(outcome),
      revision: (name) => this.revision(name),
      launchState: (name) => this.launchState(name),
      flaw: (name) => this.#entries.get(name)?.lists.flaw,
      onTransition: ({ backend, from, to, reason }) => {
        const isLogged = this.launchState(backend).problem?.permanent === true; // where the start failed
        this.#options.log[to === 'healthy' ? 'info' : 'warn']('backend health changed', {
          backend,
          from,
          to,
          ...(!isLogged && { reason }),
        });
        this.#options.onChange();
      },
    });
    before?.close();
    this.#settle();
    this.#monitor.start();
  }

  async #probe(name: string, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(name);
    if (!entry) return;
    const { phase } = this.launchState(name);
    const monitor = this.#monitor;
    const settled = (): void => {
      entry.settled = true;
      this.#settle();
    };
    const onAbort = (): void => {
      if (this.#monitor === monitor) settled(); // else the next monitor probes it again
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await this.#check(entry, signal).catch((error: unknown) => {
        entry.runtime.dropOwn();
        if (error instanceof BackendError && error.failure.kind === 'session_lost') return this.#check(entry, signal);
        throw error;
      });
      entry.failures = 0;
      entry.reported = false;
      entry.launch = undefined;
      settled();
    } catch (error) {
      const failure = entry.runtime.failureOf(error);
      if (failure.kind === 'unauthenticated' && entry.runtime.credentials.perUser) settled();
      else this.#onProbeFailed(name, entry, failure, phase);
      throw error instanceof BackendError ? error : new BackendError(failure);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /**
   * Handles a failed probe. A backend that has never answered may be starting: it is probed again soon, later at the
   * usual interval.
   */
  #onProbeFailed(
    name: string,
    entry: FleetEntry,
    { kind, detail, launch }: BackendFailure,
    phaseBefore: StartPhase | undefined,
  ): void {
    if (kind === 'cancelled') return;
    entry.failures += 1;
    entry.launch = launch ?? entry.launch;
    const isPermanent = entry.launch?.permanent === true;
    if (kind !== 'unavailable' || isPermanent || entry.failures >= STARTING_FAILURES) {
      entry.settled = true;
      this.#settle();
    }
    const { phase = phaseBefore, problem } = this.launchState(name);
    const isStarting = !entry.lists.catalog && !problem && phase !== undefined;
    if (!entry.reported && !isStarting) {
      entry.reported = true;
      this.#options.log.warn('backend does not answer', { backend: name, reason: kind, detail });
    }
    if (isPermanent || entry.lists.catalog || entry.runtime.credentials.perUser) return;
    setTimeout(
      () => {
        if (this.#entries.get(name) === entry) this.checkNow(name);
      },
      backoffMs(entry.failures, FIRST_RETRY_MS, isStarting ? LONGEST_START_RETRY_MS : LONGEST_RETRY_MS),
    ).unref();
  }

  async #check(entry: FleetEntry, signal: AbortSignal): Promise<void> {
    const { runtime } = entry;
    const channel = await runtime.own();
    const timeoutMs = Math.min(runtime.timeoutMs, 30_000);
    const options = { signal, credential: await runtime.credentials.ofGateway() };
    const { lists } = entry;
    if (runtime.credentials.perUser || !lists.isOutdated(channel)) {
      lists.channel = channel;
      await ask(channel, 'ping', undefined, timeoutMs, options);
      return;
    }
    const before = lists.warnings;
    const startedAt = this.#options.now();
    const isChanged = await lists.read(runtime.name, channel, timeoutMs, options);
    lists.readAt = this.#options.now();
    lists.tookMs = lists.readAt - startedAt;
    if (!isDeepStrictEqual(lists.warnings, before)) {
      const known = new Set(before.map(({ message }) => message));
      for (const { backend, reason, message } of lists.warnings.filter((warning) => !known.has(warning.message)))
        this.#options.log.warn('problem in a list of a backend', { backend, reason, problem: message });
    }
    this.#readAgain(entry);
    if (isChanged) this.#options.onChange();
  }

  /** Reads lists again that are missing or empty, with growing pauses. */
  #readAgain(entry: FleetEntry): void {
    const { lists, runtime } = entry;
    const pauseMs = lists.retryMs;
    clearTimeout(entry.retry);
    if (pauseMs === undefined) return;
    const again = (): void => {
      if (this.#entries.get(runtime.name) !== entry || !this.isAdvertised(runtime.name)) return;
      lists.stale = true;
      this.checkNow(runtime.name);
    };
    entry.retry = setTimeout(again, pauseMs * (0.9 + 0.2 * this.#options.random())).unref();
  }

  #listChanged(name: string): void {
    const entry = this.#entries.get(name);
    if (!entry) return;
    entry.lists.stale = true;
    if (entry.announced) return;
    entry.announced = true;
    setTimeout(() => {
      entry.announced = false;
      this.checkNow(name);
    }, LIST_CHANGED_DEBOUNCE_MS).unref();
  }

  #settle(): void {
    const before = this.#settled;
    this.#settled = [...this.#entries.values()].every(({ settled }) => settled);
    if (!this.#settled) return;
    for (const done of this.#waiting) done();
    if (!before) this.#options.onChange();
  }
}
