import type { IncomingMessage } from 'node:http';

const TURN_MS = 1;
/** Most time that one turn pays for: while the event loop is busy, large bodies are read more slowly. */
const LONGEST_TURN_MS = 1;

/** Cost of the read that comes before the first turn of a body: of one read of a connection at most. */
const FREE_COST = 64 * 1024;

export interface TurnClock {
  /** Returns the time in ms. */
  now(): number;
  /** Returns a function that ends the calls. */
  every(ms: number, call: () => void): () => void;
}

const CLOCK: TurnClock = {
  now: () => performance.now(),
  every: (ms, call) => {
    const timer = setInterval(call, ms);
    return () => {
      clearInterval(timer);
    };
  },
};

/** Bodies with one key. */
interface Line {
  /** Cost of what was read beyond what was expected and paid. */
  owed: number;
  readonly waiting: Set<ReadingTurn>;
}

/**
 * Turns in which large bodies are read, so that they leave time for short requests. A turn costs what it reads (`costOf`), and
 * is paid at its begin: as much as the one before. A body that leaves the queue leaves nothing to pay.
 */
export class ReadingTurns {
  readonly #bytesPerMs: number;
  /** Keys that wait or owe, the next one first. */
  readonly #lines = new Map<string, Line>();
  readonly #clock: TurnClock;
  #stop: (() => void) | undefined;
  #paidAt = 0;

  /** `bytesPerMs` is the rate of all bodies together. */
  constructor(bytesPerMs: number, clock: TurnClock = CLOCK) {
    this.#bytesPerMs = bytesPerMs;
    this.#clock = clock;
  }

  /** Bodies with the same key share its turns: keys take turns, not requests. */
  open(req: IncomingMessage, key: string): ReadingTurn {
    return new ReadingTurn(this, req, key);
  }

  /** Called by `ReadingTurn` only: adds a body that has read `cost` bytes to the queue. */
  enter(key: string, turn: ReadingTurn, cost: number): void {
    let line = this.#lines.get(key);
    if (line === undefined) this.#lines.set(key, (line = { owed: 0, waiting: new Set() }));
    line.owed += cost;
    line.waiting.add(turn);
    if (this.#stop !== undefined) return;
    this.#paidAt = this.#clock.now();
    this.#stop = this.#clock.every(TURN_MS, () => {
      this.#pay();
    });
  }

  /** Called by `ReadingTurn` only: removes a body from the queue, and returns what it has paid too much. */
  leave(key: string, turn: ReadingTurn, unused: number): void {
    const line = this.#lines.get(key);
    if (!line) return;
    line.waiting.delete(turn);
    line.owed = Math.max(line.owed - unused, 0);
  }

  #pay(): void {
    const now = this.#clock.now();
    const turnBytes = this.#bytesPerMs * TURN_MS;
    let bytes = Math.min(now - this.#paidAt, LONGEST_TURN_MS) * this.#bytesPerMs;
    this.#paidAt = now;
    for (const [key, line] of this.#lines) {
      if (bytes <= 0) break;
      bytes -= resumeSome(line, Math.min(bytes, turnBytes));
      this.#lines.delete(key);
      if (line.owed > 0 || line.waiting.size > 0) this.#lines.set(key, line); // behind the others
    }
    if (this.#lines.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
  }
}

/** Pays what a line owes and resumes its next bodies. Returns the bytes used, of `bytes`. */
function resumeSome(line: Line, bytes: number): number {
  line.owed -= bytes;
  for (const turn of line.waiting) {
    if (line.owed >= 0) break;
    line.waiting.delete(turn);
    line.owed += turn.resume();
  }
  const unused = Math.max(-line.owed, 0);
  line.owed += unused;
  return bytes - unused;
}

/** Turns of one body. */
export class ReadingTurn {
  readonly #turns: ReadingTurns;
  readonly #req: IncomingMessage;
  readonly #key: string;
  /** Cost of the last piece, and so probably of the next one. */
  #expected = 0;
  /** What is paid for and not read yet. */
  #paid = FREE_COST;

  constructor(turns: ReadingTurns, req: IncomingMessage, key: string) {
    this.#turns = turns;
    this.#req = req;
    this.#key = key;
  }

  /** Pauses the body, of which a piece of this cost was read, until its next turn. */
  received(cost: number): void {
    this.#req.pause();
    this.#turns.enter(this.#key, this, Math.max(cost - this.#paid, 0));
    this.#paid = Math.max(this.#paid - cost, 0);
    this.#expected = cost;
  }

  /** Called by `ReadingTurns` only. Returns the cost of the turn. */
  resume(): number {
    this.#paid = this.#expected;
    this.#req.resume();
    return this.#paid;
  }

  /** Leaves the queue: the body is complete or not needed, or its client is gone. */
  close(): void {
    this.#turns.leave(this.#key, this, this.#paid);
    this.#paid = 0;
  }
}

/** Turns of bodies that are kept: about 64 MB/s. */
export const LARGE_BODIES = new ReadingTurns(64 * 1024);
/** Turns of bodies that are read only so that their clients get the answer: they never take those of bodies that are kept. */
export const DISCARDED_BODIES = new ReadingTurns(32 * 1024);
