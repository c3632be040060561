import { refKey, type ObjectRef } from '../resolve/problems.ts';
import type { Clock } from './clock.ts';

/** What is to be done once more with a key. */
export interface Outcome {
  /** Look again after so long, whatever happens. */
  readonly requeueAfterMs?: number;
  /** It did not work: tried again after a delay that grows from try to try. */
  readonly failed?: boolean;
  /** It waits for a person: tried again as well, but never soon. */
  readonly refused?: boolean;
}

/** Told what happens, for metrics. */
export interface QueueHooks {
  depth(waiting: number): void;
  added(): void;
  retried(): void;
  /** How long a key was due before its run began. */
  started(waitedMs: number): void;
  /** A key has run so often that its next run is delayed; called once until it is quiet again. */
  paced(key: ObjectRef): void;
}

export interface QueueOptions {
  /** Runs one key, which has failed so many times in a row; what it throws counts as failed. */
  readonly run: (key: ObjectRef, failures: number) => Promise<Outcome>;
  readonly clock: Clock;
  /** Most keys that run at a time. */
  readonly workers: number;
  readonly hooks?: QueueHooks;
}

interface Entry {
  readonly key: ObjectRef;
  /** Since when it is due. */
  dueSince: number;
  state: 'idle' | 'delayed' | 'ready' | 'running';
  /** Added while it ran: it runs again. */
  again: boolean;
  /** In a row. */
  failures: number;
  /** In a row. */
  refusals: number;
  dueAt: number;
  cancel: (() => void) | undefined;
}

const FIRST_BACKOFF_MS = 5;
const FIRST_REFUSED_MS = 1_000;
const LAST_BACKOFF_MS = 300_000;
/** What changed during a run that failed may be what cures it. */
const NEWS_BACKOFF_MS = 1_000;

/**
 * Runs of one key that may follow each other without a pause, and the pause between further ones. Somebody else who
 * reverts what was written brings about a run at once, for ever: each run is one write at least.
 */
const UNPACED_RUNS = 20;
const PACE_MS = 1_000;

/** `firstMs` after the first failure, twice as long after each further one, 5 min at most. */
export const backoffMs = (failures: number, firstMs = FIRST_BACKOFF_MS): number =>
  Math.min(LAST_BACKOFF_MS, firstMs * 2 ** Math.min(failures - 1, 30));

/**
 * Keys to be worked on: each is there once, and never runs twice at a time. A key that is added while it runs, runs
 * again. Nothing runs before `start`.
 */
export class WorkQueue {
  readonly #options: QueueOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #pace: Pace;
  /** Insertion order is the order of work. */
  readonly #ready = new Set<Entry>();
  #running = 0;
  #state: 'new' | 'started' | 'stopped' = 'new';
  #ended: Promise<void> | undefined;
  #stopped: (() => void) | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#pace = new Pace(options.clock);
  }

  /** Keys that are due and not running. */
  get depth(): number {
    return this.#ready.size;
  }

  /** Has a key run after `delayMs`; the earlier of two times wins, and so does a new reason over a backoff. */
  add(key: ObjectRef, delayMs = 0): void {
    if (this.#state === 'stopped') return;
    const id = refKey(key);
    const entry = this.#entries.get(id) ?? newEntry(key);
    this.#entries.set(id, entry);
    this.#options.hooks?.added();
    if (entry.state === 'running') entry.again = true;
    else this.#schedule(entry, delayMs);
  }

  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'started';
    this.#work();
  }

  /** Drops what waits; resolves when everything that runs has ended. */
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
    entry.again = false;
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
      const wait = failed ? backoffMs(entry.failures) : backoffMs(entry.refusals, FIRST_REFUSED_MS);
      this.#schedule(entry, entry.again ? Math.min(wait, NEWS_BACKOFF_MS) : wait);
      return;
    }
    if (requeueAfterMs !== undefined) this.#schedule(entry, requeueAfterMs);
    if (entry.again) this.#schedule(entry, 0);
    else if (requeueAfterMs === undefined) this.#entries.delete(refKey(entry.key));
  }
}

const newEntry = (key: ObjectRef): Entry => ({
  key,
  dueSince: 0,
  state: 'idle',
  again: false,
  failures: 0,
  refusals: 0,
  dueAt: 0,
  cancel: undefined,
});

/** Spaces the runs of one key: a token bucket of `UNPACED_RUNS` that gains one token each `PACE_MS`. */
class Pace {
  readonly #clock: Clock;
  /** By key: when its bucket is full again. In the order of the last runs. */
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

  /** Milliseconds until the key may run again; `onPaced` is called for the first pause since its bucket was full. */
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
