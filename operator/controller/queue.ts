import { refKey, type ObjectRef } from '../resolve/scope.ts';
import { backoffMs, type Clock } from '../../gateway/kit/time.ts';

/** Result of a run: whether and when the key runs again. */
export interface Outcome {
  /** Run again after this time in any case. */
  readonly requeueAfterMs?: number;
  /** The run failed. It is retried with exponential backoff. */
  readonly failed?: boolean;
  /** The run needs a correction by the user. It is retried with a longer backoff. */
  readonly refused?: boolean;
}

/** Callbacks for metrics. */
export interface QueueHooks {
  depth(waiting: number): void;
  added(): void;
  retried(): void;
  /** Called with the time that a key waited after it was due. */
  started(waitedMs: number): void;
  /** Called once when a key ran so often that its next runs are delayed. */
  paced(key: ObjectRef): void;
}

export interface QueueOptions {
  /** Runs one key. `failures` is the number of consecutive failures. An exception counts as a failure. */
  readonly run: (key: ObjectRef, failures: number) => Promise<Outcome>;
  readonly clock: Clock;
  /** Maximum number of keys that run at the same time. */
  readonly workers: number;
  readonly hooks?: QueueHooks;
}

interface Entry {
  readonly key: ObjectRef;
  /** Time since which it is due. */
  dueSince: number;
  state: 'idle' | 'delayed' | 'ready' | 'running';
  /** True when the key was added while it ran, so that it runs again. */
  isAddedAgain: boolean;
  /** Consecutive failures. */
  failures: number;
  /** Consecutive refusals. */
  refusals: number;
  dueAt: number;
  cancel: (() => void) | undefined;
}

const FIRST_BACKOFF_MS = 5;
const FIRST_REFUSED_MS = 1_000;
const MAX_BACKOFF_MS = 300_000;
/** Longest backoff after a failed run during which the key changed: the change may fix the failure. */
const CHANGED_BACKOFF_MS = 1_000;

/**
 * Number of runs of one key without a pause, and the pause between further runs. Without a pause, another controller
 * that reverts the writes of the operator would cause an endless series of writes.
 */
const UNPACED_RUNS = 20;
const PACE_MS = 1_000;

/** Returns the backoff: `firstMs` after the first failure, doubled after each further one, at most 5 min. */
export const retryPauseMs = (failures: number, firstMs = FIRST_BACKOFF_MS): number =>
  backoffMs(failures, firstMs, MAX_BACKOFF_MS);

/**
 * Queue of keys. Each key is queued once and never runs twice at the same time. A key that is added while it runs, runs
 * again. Nothing runs before `start`.
 */
export class WorkQueue {
  readonly #options: QueueOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #pace: Pace;
  /** Keys in the order in which they run. */
  readonly #ready = new Set<Entry>();
  #running = 0;
  #state: 'new' | 'started' | 'stopped' = 'new';
  #ended: Promise<void> | undefined;
  #stopped: (() => void) | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#pace = new Pace(options.clock);
  }

  /** Number of keys that are due and not running. */
  get depth(): number {
    return this.#ready.size;
  }

  /** Schedules a run after `delayMs`. The earlier of two times wins, and a new change wins over a backoff. */
  add(key: ObjectRef, delayMs = 0): void {
    if (this.#state === 'stopped') return;
    const id = refKey(key);
    const entry = this.#entries.get(id) ?? newEntry(key);
    this.#entries.set(id, entry);
    this.#options.hooks?.added();
    if (entry.state === 'running') entry.isAddedAgain = true;
    else this.#schedule(entry, delayMs);
  }

  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'started';
    this.#work();
  }

  /** Drops the waiting keys and resolves when the running ones have ended. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    for (const entry of this.#entries.values()) entry.cancel?.();
    this.#entries.clear();
    this.#ready.clear();
    this.#options.hooks?.depth(0);
    if (this.#running > 0) this.#ended ??= new Promise((resolve) => (this.#stopped = resolve));
    await this.#ended;
  }

  #schedule(entry: Entry, delayMs: number): void {
    const { clock, hooks } = this.#options;
    const pauseMs = this.#pace.pauseMs(entry.key, (key) => hooks?.paced(key));
    const waitMs = Math.max(delayMs, pauseMs);
    const dueAt = clock.now() + waitMs;
    if (entry.state === 'ready' || (entry.state === 'delayed' && entry.dueAt <= dueAt)) return;
    entry.cancel?.();
    entry.cancel = undefined;
    entry.dueAt = dueAt;
    if (waitMs <= 0) {
      this.#makeReady(entry);
      return;
    }
    entry.state = 'delayed';
    entry.cancel = clock.after(waitMs, () => {
      entry.cancel = undefined;
      this.#makeReady(entry);
    });
  }

  #makeReady(entry: Entry): void {
    entry.state = 'ready';
    entry.dueSince = this.#options.clock.now();
    this.#ready.add(entry);
    this.#options.hooks?.depth(this.#ready.size);
    this.#work();
  }

  #work(): void {
    if (this.#state !== 'started') return;
    for (const entry of this.#ready) {
      if (this.#running >= this.#options.workers) return;
      this.#ready.delete(entry);
      this.#options.hooks?.depth(this.#ready.size);
      void this.#runOne(entry);
    }
  }

  async #runOne(entry: Entry): Promise<void> {
    const { run, clock, hooks } = this.#options;
    entry.state = 'running';
    entry.isAddedAgain = false;
    this.#pace.ran(entry.key);
    this.#running += 1;
    hooks?.started(clock.now() - entry.dueSince);
    const outcome = await run(entry.key, entry.failures).catch((): Outcome => ({ failed: true }));
    this.#running -= 1;
    if (this.#state === 'stopped') {
      if (this.#running === 0) this.#stopped?.();
      return;
    }
    this.#settle(entry, outcome);
    this.#work();
  }

  #settle(entry: Entry, { failed = false, refused = false, requeueAfterMs }: Outcome): void {
    entry.state = 'idle';
    entry.failures = failed ? entry.failures + 1 : 0;
    entry.refusals = refused ? entry.refusals + 1 : 0;
    if (failed || refused) {
      this.#options.hooks?.retried();
      const wait = failed ? retryPauseMs(entry.failures) : retryPauseMs(entry.refusals, FIRST_REFUSED_MS);
      this.#schedule(entry, entry.isAddedAgain ? Math.min(wait, CHANGED_BACKOFF_MS) : wait);
      return;
    }
    if (requeueAfterMs !== undefined) this.#schedule(entry, requeueAfterMs);
    if (entry.isAddedAgain) this.#schedule(entry, 0);
    else if (requeueAfterMs === undefined) this.#entries.delete(refKey(entry.key));
  }
}

const newEntry = (key: ObjectRef): Entry => ({
  key,
  dueSince: 0,
  state: 'idle',
  isAddedAgain: false,
  failures: 0,
  refusals: 0,
  dueAt: 0,
  cancel: undefined,
});

/** Limits the runs of each key with a token bucket of `UNPACED_RUNS` tokens that gains one each `PACE_MS`. */
class Pace {
  readonly #clock: Clock;
  /** Time at which the bucket of a key is full again, by key, in the order of the last runs. */
  readonly #fullAt = new Map<string, { at: number; isPaced: boolean }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ran(key: ObjectRef): void {
    const now = this.#clock.now();
    const id = refKey(key);
    const { at = now, isPaced = false } = this.#fullAt.get(id) ?? {};
    this.#fullAt.delete(id);
    this.#fullAt.set(id, { at: Math.max(at, now) + PACE_MS, isPaced: isPaced && at > now });
    for (const [oldest, { at: fullAt }] of this.#fullAt) {
      if (fullAt > now) break;
      this.#fullAt.delete(oldest);
    }
  }

  /** Returns the milliseconds until the key may run. Calls `onPaced` for the first pause since its bucket was full. */
  pauseMs(key: ObjectRef, onPaced: (key: ObjectRef) => void): number {
    const state = this.#fullAt.get(refKey(key));
    const pauseMs = state ? state.at - (UNPACED_RUNS - 1) * PACE_MS - this.#clock.now() : 0;
    if (state && pauseMs > 0 && !state.isPaced) {
      state.isPaced = true;
      onPaced(key);
    }
    return Math.max(0, pauseMs);
  }
}
