import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { ReadingTurns, type ReadingTurn } from './reading-turns.ts';

const KIB = 1024;
const BYTES_PER_MS = 64 * KIB;

/** Turns whose clock the test moves. */
class Fixture {
  #ms = 0;
  #tick: (() => void) | undefined;
  readonly turns = new ReadingTurns(BYTES_PER_MS, {
    now: () => this.#ms,
    every: (_, call) => {
      this.#tick = call;
      return () => (this.#tick = undefined);
    },
  });

  get isRunning(): boolean {
    return this.#tick !== undefined;
  }

  /** Lets `ms` pass, in steps of `stepMs`. Bodies that have their turn read at once. */
  run(ms: number, bodies: readonly Body[] = [], stepMs = 1): void {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.#ms += stepMs;
      this.#tick?.();
      for (const body of bodies) if (body.isResumed) body.read();
    }
  }

  bodies(count: number, key: string, cost: number): Body[] {
    const bodies = Array.from({ length: count }, () => new Body(this.turns, key, cost));
    for (const body of bodies) body.read();
    return bodies;
  }
}

/** A body whose next piece is there as soon as it may be read. */
class Body {
  readonly #turn: ReadingTurn;
  readonly #cost: number;
  isResumed = false;
  pieces = 0;

  constructor(turns: ReadingTurns, key: string, cost: number) {
    const pause = (): void => void (this.isResumed = false);
    const resume = (): void => void (this.isResumed = true);
    this.#turn = turns.open({ pause, resume } as unknown as IncomingMessage, key);
    this.#cost = cost;
  }

  read(cost = this.#cost): void {
    this.pieces += 1;
    this.#turn.received(cost);
  }

  close(): void {
    this.#turn.close();
  }
}

const piecesOf = (bodies: readonly Body[]): number => bodies.reduce((sum, { pieces }) => sum + pieces, 0);

it.each([
  [1, 64 * KIB],
  [20, 64 * KIB],
  [300, 10 * KIB],
  [40, 200 * KIB],
])('reads %i bodies in pieces of %i bytes at its rate', (count, cost) => {
  const fixture = new Fixture();
  const bodies = fixture.bodies(count, 'a', cost);
  fixture.run(1_000, bodies);
  const bytes = (piecesOf(bodies) - count) * cost;
  expect(bytes).toBeLessThanOrEqual(1_000 * BYTES_PER_MS);
  expect(bytes).toBeGreaterThan(900 * BYTES_PER_MS - count * Math.max(cost - 64 * KIB, 0));
});

it('reads more slowly while the event loop is busy', () => {
  const fixture = new Fixture();
  const bodies = fixture.bodies(20, 'a', 64 * KIB);
  fixture.run(1_000, bodies, 50);
  expect(piecesOf(bodies) - 20).toBeLessThanOrEqual(40);
});

it('row 90: gives each key the same bytes, however many bodies have it', () => {
  const fixture = new Fixture();
  const many = fixture.bodies(300, 'many', 64 * KIB);
  const [alone] = fixture.bodies(1, 'alone', 64 * KIB) as [Body];
  fixture.run(200, [...many, alone]);
  expect(alone.pieces).toBeGreaterThan(95);
  expect(piecesOf(many) - 300).toBeGreaterThan(95);
});

it.each([1, 129, 200])('row 90: 300 bodies that trickle %i bytes leave the rate to one of the same key', (cost) => {
  const fixture = new Fixture();
  const trickling = fixture.bodies(300, 'a', cost);
  const [long] = fixture.bodies(1, 'a', 64 * KIB) as [Body];
  fixture.run(200, [...trickling, long]);
  expect(long.pieces).toBeGreaterThan(90);
});

it('row 90: 300 bodies that trickle, then read much at once, hold up only their own key', () => {
  const fixture = new Fixture();
  const bursting = fixture.bodies(300, 'a', 1);
  fixture.run(5);
  for (const body of bursting) body.read(128 * KIB);
  const [other] = fixture.bodies(1, 'b', 64 * KIB) as [Body];
  fixture.run(100, [other]);
  expect(other.pieces).toBeGreaterThan(48);
});

it('row 91: bodies whose clients are gone leave the queue, with what they would have to pay', () => {
  const fixture = new Fixture();
  const gone = fixture.bodies(300, 'a', 64 * KIB);
  const [next] = fixture.bodies(1, 'a', 64 * KIB) as [Body];
  for (const body of gone) body.close();
  fixture.run(10, [...gone, next]);
  expect(next.pieces).toBe(11);
  expect(piecesOf(gone)).toBe(300);
});

it('gives back what a body has paid and not read', () => {
  const fixture = new Fixture();
  const [silent] = fixture.bodies(1, 'a', 640 * KIB) as [Body];
  fixture.run(10); // its first read is paid, and its turn has come: it owes as much again
  silent.close();
  const [next] = fixture.bodies(1, 'a', 64 * KIB) as [Body];
  fixture.run(2, [next]);
  expect(next.pieces).toBe(3);
});

it('stops its clock when nobody waits', () => {
  const fixture = new Fixture();
  const bodies = fixture.bodies(3, 'a', 64 * KIB);
  expect(fixture.isRunning).toBe(true);
  for (const body of bodies) body.close();
  fixture.run(2);
  expect(fixture.isRunning).toBe(false);
});
