import { LONGEST_TIMER_MS } from '../../kit/time.ts';

/** Something that may take a limited time. It is a link in the list of its `TimeLimit`. */
export interface Limited {
  /** Time of `performance.now()` at which it ends; undefined while it has no limit. */
  endsAt: number | undefined;
  earlier: Limited | undefined;
  later: Limited | undefined;
  timedOut(): void;
}

const LIMITS = new Map<number, TimeLimit>();

/**
 * A duration after which many things end. Only the oldest has a timer: a timer for each call would take a fiftieth of the time of the
 * call. The list has links, because V8 keeps what a long-lived `Map` has held until its next collection of the old generation.
 */
export class TimeLimit {
  readonly #ms: number;
  #first: Limited | undefined;
  #last: Limited | undefined;
  #isArmed = false;

  /** Returns the limit of so many milliseconds. There are as many as settings with different times. */
  static of(ms: number): TimeLimit {
    let limit = LIMITS.get(ms);
    if (!limit) LIMITS.set(ms, (limit = new TimeLimit(ms)));
    return limit;
  }

  private constructor(ms: number) {
    this.#ms = ms;
  }

  /** Calls `timedOut` once after the time, unless `stop` is called before. `limited` must have no limit yet. */
  start(limited: Limited): void {
    limited.endsAt = performance.now() + this.#ms;
    limited.earlier = this.#last;
    if (this.#last) this.#last.later = limited;
    else this.#first = limited;
    this.#last = limited;
    if (!this.#isArmed) this.#arm(this.#ms);
  }

  stop(limited: Limited): void {
    if (limited.endsAt === undefined) return;
    const { earlier, later } = limited;
    if (earlier) earlier.later = later;
    else this.#first = later;
    if (later) later.earlier = earlier;
    else this.#last = earlier;
    limited.endsAt = limited.earlier = limited.later = undefined;
  }

  /** The process may end before the timer does: what is limited has a connection, which keeps the process alive. */
  #arm(ms: number): void {
    this.#isArmed = true;
    setTimeout(endDue, Math.min(ms, LONGEST_TIMER_MS), this).unref();
  }

  /** Ends what is due, and arms the timer for the next. */
  endDue(): void {
    const now = performance.now();
    try {
      for (let first = this.#first; first?.endsAt !== undefined && first.endsAt <= now; first = this.#first) {
        this.stop(first);
        first.timedOut();
      }
    } finally {
      this.#isArmed = false;
      const next = this.#first?.endsAt;
      if (next !== undefined) this.#arm(Math.max(1, Math.ceil(next - now)));
    }
  }
}

function endDue(limit: TimeLimit): void {
  limit.endDue();
}
