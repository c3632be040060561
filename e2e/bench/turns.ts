/** Signals to a benchmark of a pair: measure now, and: the other one has measured too. */
export type Signal = 'go' | 'next';
/** Messages of a benchmark of a pair: it is about to measure, and: it has measured. */
export type Step = 'ready' | 'done';

/** Set in the environment of a benchmark of a pair, which has an IPC channel to `paired.ts`. */
export const IN_PAIR = 'BENCH_IN_PAIR';

/**
 * Lets two benchmarks that run at the same time measure one after the other: a slice of one, then the same slice of the
 * other, while neither prepares the next. So both see the same CPU speed. Each slice begins with the other of the two.
 */
export class Turns {
  readonly #send: (bench: number, signal: Signal) => void;
  readonly #present = new Set([0, 1]);
  readonly #ready = new Set<number>();
  /** Benchmarks that still have to measure this slice. */
  #queue: number[] = [];
  #measuring: number | undefined;
  #rested: number[] = [];
  #slices = 0;

  constructor(send: (bench: number, signal: Signal) => void) {
    this.#send = send;
  }

  ready(bench: number): void {
    this.#ready.add(bench);
    this.#begin();
  }

  done(bench: number): void {
    this.#measuring = undefined;
    this.#rested.push(bench);
    this.#advance();
  }

  /** A benchmark has ended: the other one continues alone. */
  left(bench: number): void {
    this.#present.delete(bench);
    this.#ready.delete(bench);
    this.#queue = this.#queue.filter((each) => each !== bench);
    this.#rested = this.#rested.filter((each) => each !== bench);
    if (this.#measuring === bench) this.#measuring = undefined;
    if (this.#measuring !== undefined) return;
    if (this.#queue.length + this.#rested.length > 0) this.#advance();
    else this.#begin();
  }

  #begin(): void {
    if (this.#ready.size === 0 || this.#ready.size < this.#present.size) return;
    const order = this.#slices % 2 === 0 ? [0, 1] : [1, 0];
    this.#slices += 1;
    this.#queue = order.filter((bench) => this.#ready.delete(bench));
    this.#advance();
  }

  #advance(): void {
    this.#measuring = this.#queue.shift();
    if (this.#measuring !== undefined) {
      this.#send(this.#measuring, 'go');
      return;
    }
    for (const bench of this.#rested.splice(0)) this.#send(bench, 'next');
  }
}

/** Runs `act` when it is the turn of this process: at once, unless it is a benchmark of a pair. */
export async function inTurn<T>(act: () => Promise<T>): Promise<T> {
  if (process.env[IN_PAIR] === undefined) return act();
  await answered('ready');
  try {
    return await act();
  } finally {
    await answered('done');
  }
}

const answered = (step: Step): Promise<unknown> =>
  new Promise((resolve) => {
    process.once('message', resolve);
    process.send?.(step);
  });
