import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'winston';
import { durationMs } from '../../contract/fields.ts';
import type { Backend, Operational } from '../../contract/gateway-config.ts';
import type { CallObserver } from '../../telemetry/call-metrics.ts';
import type { Catalog } from '../aggregation/catalog.ts';
import type { Warning } from '../aggregation/view.ts';
import { createMonitor, type Monitor } from '../health/monitor.ts';
import type { HealthSnapshot } from '../health/state.ts';
import { BackendError, type BackendFailure, type Channel, type Transport } from '../transport/channel.ts';
import { ask } from '../transport/request-reply.ts';
import type { BackendMessage } from '../relay.ts';
import { BackendRuntime } from './backend.ts';
import { discover } from './discover.ts';

export interface FleetOptions {
  readonly log: Logger;
  readonly now: () => number;
  readonly random: () => number;
  readonly metrics: CallObserver;
  readonly createTransport: (backend: Backend, operational: Operational) => Transport;
  /** A message of a backend for one client. */
  readonly onMessage: (message: BackendMessage) => void;
  /** What the backends offer, or which of them are available, has changed. */
  readonly onChange: () => void;
}

interface Member {
  readonly runtime: BackendRuntime;
  catalog: Catalog | undefined;
  /** The channel that `catalog` was read from. */
  channel: Channel | undefined;
  /** The backend said that a list changed, or one could not be read: the next probe reads them all. */
  stale: boolean;
  /** Of the last reading of its lists. */
  warnings: readonly Warning[];
  /** It has answered, or was given the time to. */
  settled: boolean;
  /** Failed probes in a row. */
  failures: number;
}

const LIST_CHANGED_DEBOUNCE_MS = 250;
const FIRST_RETRY_MS = 250;
/** Refused connections in a row that a backend has for its start before lists go without it. */
const STARTING_FAILURES = 4;
const RECHECK_AFTER_MS = 1_000;
/** Time that running calls have on a backend that was replaced. */
const RETIRE_GRACE_MS = 30_000;

/** The backends of one virtual server: which there are, what each offers, how each feels. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #members = new Map<string, Member>();
  readonly #retiring = new Set<BackendRuntime>();
  readonly #waiting = new Set<() => void>();
  #monitor: Monitor | undefined;
  #settled = false;

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  get settled(): boolean {
    return this.#settled;
  }

  runtime(name: string): BackendRuntime | undefined {
    return this.#members.get(name)?.runtime;
  }

  catalog(name: string): Catalog | undefined {
    return this.#members.get(name)?.catalog;
  }

  /** Revision that the backend was last spoken to in. */
  revision(name: string): string | undefined {
    return this.#members.get(name)?.channel?.facts.revision;
  }

  /** Catalogs of the backends that are advertised. */
  catalogs(): Catalog[] {
    return [...this.#members.values()].flatMap((member) =>
      member.catalog && this.#isAdvertised(member) ? [member.catalog] : [],
    );
  }

  /** Names of the backends whose items are missing. */
  unavailable(): string[] {
    return [...this.#members].flatMap(([name, member]) => (member.catalog && this.#isAdvertised(member) ? [] : [name]));
  }

  health(): HealthSnapshot {
    if (!this.#monitor) throw new Error('the fleet has no backends yet');
    return this.#monitor.snapshot();
  }

  checkNow(name: string): void {
    void this.#monitor?.checkNow(name);
  }

  /** Sets the backends. Returns those that are gone or were replaced; `retire` is called for each of them. */
  replace(backends: readonly Backend[], operational: Operational, keepEqual = true): BackendRuntime[] {
    const gone = [...this.#members].filter(
      ([name, { runtime }]) =>
        !keepEqual || !backends.some((next) => next.name === name && isDeepStrictEqual(next, runtime.config)),
    );
    for (const [name] of gone) this.#members.delete(name);
    for (const config of backends) if (!this.#members.has(config.name)) this.#add(config, operational);
    this.#restartMonitor(operational);
    this.#options.onChange();
    return gone.map(([, { runtime }]) => runtime);
  }

  /** Lets the running calls of a backend that `replace` returned end before it is closed. */
  retire(runtime: BackendRuntime): void {
    this.#retiring.add(runtime);
    void runtime.retire(RETIRE_GRACE_MS).finally(() => this.#retiring.delete(runtime));
  }

  /** Resolves when every backend was asked once, or after `timeoutMs`. */
  whenSettled(timeoutMs: number): Promise<void> {
    if (this.#settled) return Promise.resolve();
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

  async close(): Promise<void> {
    this.#monitor?.close();
    const runtimes = [...this.#retiring, ...[...this.#members.values()].map(({ runtime }) => runtime)];
    await Promise.all(runtimes.map((runtime) => runtime.close()));
  }

  #isAdvertised(member: Member): boolean {
    return this.#monitor?.advertised(member.runtime.name) ?? true;
  }

  #add(config: Backend, operational: Operational): void {
    const { log, now, metrics, createTransport, onMessage } = this.#options;
    const runtime = new BackendRuntime({
      config,
      operational,
      transport: createTransport(config, operational),
      metrics,
      log,
      now,
      onUnavailable: () => {
        const last = this.#monitor?.health(config.name)?.lastCheckAt ?? 0;
        if (now() - last > RECHECK_AFTER_MS) this.checkNow(config.name);
      },
      onListChanged: () => {
        this.#listChanged(config.name);
      },
      onMessage,
    });
    this.#members.set(config.name, {
      runtime,
      catalog: undefined,
      channel: undefined,
      stale: false,
      warnings: [],
      settled: false,
      failures: 0,
    });
  }

  #restartMonitor(operational: Operational): void {
    const before = this.#monitor;
    const failures = operational.failure_handling;
    this.#monitor = createMonitor({
      backends: [...this.#members.keys()],
      intervalMs: durationMs(failures.health_check_interval),
      timeoutMs: durationMs(failures.health_check_timeout),
      unhealthyThreshold: failures.unhealthy_threshold,
      now: this.#options.now,
      random: this.#options.random,
      previous: before,
      probe: (name, signal) => this.#probe(name, signal),
      circuit: (name) => this.runtime(name)?.circuit.current,
      revision: (name) => this.revision(name),
      onTransition: ({ backend, from, to, category }) => {
        this.#options.log[to === 'healthy' ? 'info' : 'warn']('backend health changed', {
          backend,
          from,
          to,
          reason: category,
        });
        this.#options.onChange();
      },
    });
    before?.close();
    this.#settle();
    this.#monitor.start();
  }

  async #probe(name: string, signal: AbortSignal): Promise<void> {
    const member = this.#members.get(name);
    if (!member) return;
    const settled = (): void => {
      member.settled = true;
      this.#settle();
    };
    signal.addEventListener('abort', settled, { once: true });
    try {
      await this.#ask(member, signal).catch((error: unknown) => {
        member.runtime.dropOwn();
        if (error instanceof BackendError && error.failure.kind === 'session_lost') return this.#ask(member, signal);
        throw error;
      });
      member.failures = 0;
      settled();
    } catch (error) {
      this.#onProbeFailed(name, member, member.runtime.failureOf(error));
      throw error;
    } finally {
      signal.removeEventListener('abort', settled);
    }
  }

  /** A backend that was never there may just be starting: it is asked again soon, later at the usual interval. */
  #onProbeFailed(name: string, member: Member, { kind, detail }: BackendFailure): void {
    if (kind === 'cancelled') return;
    member.failures += 1;
    if (kind !== 'unavailable' || member.failures >= STARTING_FAILURES) {
      member.settled = true;
      this.#settle();
    }
    if (member.failures === 1)
      this.#options.log.warn('backend does not answer', { backend: name, reason: kind, detail });
    if (member.catalog) return;
    setTimeout(
      () => {
        if (this.#members.get(name) === member) this.checkNow(name);
      },
      FIRST_RETRY_MS * 2 ** Math.min(member.failures - 1, 5),
    ).unref();
  }

  async #ask(member: Member, signal: AbortSignal): Promise<void> {
    const channel = await member.runtime.own();
    const timeoutMs = Math.min(member.runtime.timeoutMs, 30_000);
    if (member.channel === channel && !member.stale) {
      await ask(channel, 'ping', undefined, timeoutMs, signal);
      return;
    }
    member.stale = false;
    const { catalog, warnings, complete } = await discover(member.runtime.name, channel, timeoutMs, signal);
    if (!isDeepStrictEqual(warnings, member.warnings)) {
      for (const { backend, reason, message } of warnings)
        this.#options.log.warn('backend list', { backend, reason, problem: message });
    }
    member.warnings = warnings;
    member.stale ||= !complete;
    member.catalog = catalog;
    member.channel = channel;
    this.#options.onChange();
  }

  #listChanged(name: string): void {
    const member = this.#members.get(name);
    if (!member || member.stale) return;
    member.stale = true;
    setTimeout(() => {
      this.checkNow(name);
    }, LIST_CHANGED_DEBOUNCE_MS).unref();
  }

  #settle(): void {
    this.#settled = [...this.#members.values()].every(({ settled }) => settled);
    if (this.#settled) for (const done of this.#waiting) done();
  }
}
