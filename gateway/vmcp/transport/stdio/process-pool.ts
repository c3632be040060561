import { RETRY_AFTER_SECONDS } from '../../budgets/limits.ts';
import type { Clock } from '../../../kit/time.ts';
import { isOutage } from '../../../workloads/runner/engine-outage.ts';
import { BackendError } from '../channel.ts';
import { createRestartPauses, type PauseRules, type RestartPauses } from './restart-pauses.ts';

/** End of a process. */
export interface ProcessEnd {
  readonly deliberate: boolean;
  readonly aliveMs: number;
  /** The end in words, for users. */
  readonly cause: string;
}

export interface PooledProcess {
  readonly alive: boolean;
  /** Number of open channels. */
  readonly users: number;
  /** Number of calls that wait for a reply. */
  readonly running: number;
  /** Start or end of the last call, epoch ms. */
  readonly lastUsedAt: number;
  /** Resolves, never rejects, when the process has ended. */
  readonly ended: Promise<ProcessEnd>;
  stop(): Promise<void>;
}

export interface PoolOptions<Process extends PooledProcess, Owner> {
  readonly maxProcesses: number;
  /** Principal that a process belongs to, and the most processes of one; undefined without a limit. */
  readonly principalOf?: (owner: Owner) => string | undefined;
  readonly maxPerPrincipal?: number;
  /** Key of the process that `maxProcesses` does not count. */
  readonly uncounted: string;
  /** Time without a call (a ping is one) after which a process is stopped, even with open channels. */
  readonly idleMs: number;
  /** Pauses before a start after a crash. */
  readonly pauses?: PauseRules;
  readonly clock: Clock;
  /** Starts a process; a rejection is a failed start. `closing` is aborted when the pool is closed. */
  readonly start: (owner: Owner, closing: AbortSignal) => Promise<Process>;
}

interface Entry<Process> {
  readonly starting: Promise<Process>;
  readonly principal: string | undefined;
  process: Process | undefined;
  /** Number of callers that wait in `acquire`. */
  waiters: number;
  cancelIdleTimer: () => void;
}

/** Running processes of one backend, one per key, at most `maxProcesses`. */
export class ProcessPool<Process extends PooledProcess, Owner> {
  readonly #options: PoolOptions<Process, Owner>;
  readonly #entries = new Map<string, Entry<Process>>();
  readonly #stopping = new Set<Promise<void>>();
  readonly #pauses: RestartPauses;
  readonly #closing = new AbortController();

  constructor(options: PoolOptions<Process, Owner>) {
    this.#options = options;
    this.#pauses = createRestartPauses(() => options.clock.now(), options.pauses);
  }

  /**
   * Calls `use` with the process of `key`, which is started for `owner` when necessary. Nothing stops the process in
   * between. @throws BackendError `unavailable` at the limit, or during the pause after a crash
   */
  async acquire<Result>(key: string, owner: Owner, use: (process: Process) => Result): Promise<Result> {
    if (this.#closing.signal.aborted) throw shuttingDown();
    const present = this.#entries.get(key);
    if (present?.process?.alive === false) throw ending();
    const entry = present ?? this.#create(key, owner);
    entry.waiters += 1;
    try {
      return use(await entry.starting);
    } finally {
      entry.waiters -= 1;
    }
  }

  /** Stops the process of `key` unless it is used. Never rejects. */
  async release(key: string): Promise<void> {
    const entry = this.#entries.get(key);
    if (entry?.process?.users === 0 && entry.waiters === 0) await this.#stop(key, entry);
  }

  /** Stops every process, including those that are starting. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled([...this.#entries.values()].map(({ starting }) => starting));
    for (const [key, entry] of [...this.#entries]) void this.#stop(key, entry);
    while (this.#stopping.size > 0) await Promise.all(this.#stopping);
  }

  #create(key: string, owner: Owner): Entry<Process> {
    this.#pauses.check(key);
    const principal = this.#options.principalOf?.(owner);
    if (principal !== undefined) this.#checkShare(principal);
    this.#makeRoom();
    const entry: Entry<Process> = {
      starting: this.#start(owner),
      principal,
      process: undefined,
      waiters: 0,
      cancelIdleTimer: () => undefined,
    };
    this.#entries.set(key, entry);
    entry.starting.then(
      (process) => {
        this.#started(key, entry, process);
      },
      (error: unknown) => {
        this.#remove(key, entry);
        const { launch, cause } = error instanceof BackendError ? error.failure : {};
        if (!this.#closing.signal.aborted) this.#pauses.startFailed(isOutage(launch), cause);
      },
    );
    return entry;
  }

  /** Number of processes without the gateway's own, which answers probes and lists. */
  get #counted(): number {
    return this.#entries.size - (this.#entries.has(this.#options.uncounted) ? 1 : 0);
  }

  async #start(owner: Owner): Promise<Process> {
    // run after the caller has counted the new entry; a process that is stopping still counts
    await Promise.resolve();
    while (this.#stopping.size > 0 && this.#counted + this.#stopping.size > this.#options.maxProcesses)
      await Promise.race(this.#stopping);
    if (this.#closing.signal.aborted) throw shuttingDown();
    return this.#options.start(owner, this.#closing.signal);
  }

  #started(key: string, entry: Entry<Process>, process: Process): void {
    entry.process = process;
    this.#pauses.started();
    void process.ended.then(({ deliberate, aliveMs, cause }) => {
      this.#remove(key, entry);
      if (!deliberate) this.#pauses.crashed(key, aliveMs, cause);
    });
    if (this.#closing.signal.aborted) void this.#stop(key, entry);
    else this.#watchIdle(key, entry, process, this.#options.idleMs);
  }

  #watchIdle(key: string, entry: Entry<Process>, process: Process, delayMs: number): void {
    const { clock, idleMs } = this.#options;
    entry.cancelIdleTimer = clock.after(delayMs, () => {
      const leftMs = process.running > 0 ? idleMs : process.lastUsedAt + idleMs - clock.now();
      if (leftMs > 0) this.#watchIdle(key, entry, process, leftMs);
      else void this.#stop(key, entry);
    });
  }

  /** Rejects a process of a principal that has its share. */
  #checkShare(principal: string): void {
    const { maxPerPrincipal = Infinity } = this.#options;
    const own = [...this.#entries.values()].filter((entry) => entry.principal === principal).length;
    if (own < maxPerPrincipal) return;
    const detail = `${String(own)} processes of this backend belong to one user`;
    throw new BackendError({ kind: 'overloaded', detail, retryAfterSeconds: RETRY_AFTER_SECONDS, budget: 'processes' });
  }

  /** Stops the least recently used process without channels when the pool is full. */
  #makeRoom(): void {
    const { maxProcesses } = this.#options;
    if (this.#counted < maxProcesses) return;
    const unused = [...this.#entries].filter(([, { process, waiters }]) => process?.users === 0 && waiters === 0);
    const [oldest] = unused.sort(([, a], [, b]) => (a.process?.lastUsedAt ?? 0) - (b.process?.lastUsedAt ?? 0));
    if (!oldest) {
      const detail = `all ${maxProcesses} processes of this backend are in use (max_processes)`;
      throw new BackendError({ kind: 'unavailable', detail });
    }
    void this.#stop(...oldest);
  }

  #stop(key: string, entry: Entry<Process>): Promise<void> {
    this.#remove(key, entry);
    if (!entry.process) return Promise.resolve();
    const stopped = entry.process.stop().finally(() => this.#stopping.delete(stopped));
    this.#stopping.add(stopped);
    return stopped;
  }

  #remove(key: string, entry: Entry<Process>): void {
    entry.cancelIdleTimer();
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
  }
}

const ending = () => new BackendError({ kind: 'unavailable', detail: 'the process is ending', retryAfterSeconds: 1 });

const shuttingDown = () => new BackendError({ kind: 'unavailable', detail: 'the backend is being shut down' });
