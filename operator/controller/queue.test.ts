import { describe, expect, it } from 'vitest';
import { ManualClock } from './testdata/manual-clock.ts';
import { retryPauseMs, WorkQueue, type Outcome } from './queue.ts';

const key = (name: string) => ({ kind: 'MCPServer', namespace: 'ns', name });
/** Waits until every ready key has started. */
const settled = async (): Promise<void> => {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
};

interface Run {
  readonly name: string;
  /** Consecutive failures before this run. */
  readonly failures: number;
  end(outcome?: Outcome): Promise<void>;
  fail(): Promise<void>;
}

function setUp(workers = 2) {
  const clock = new ManualClock();
  const runs: Run[] = [];
  const names: string[] = [];
  const seen = { added: 0, retried: 0, waited: [] as number[], depth: 0, paced: [] as string[] };
  const queue = new WorkQueue({
    workers,
    clock,
    hooks: {
      depth: (waiting) => (seen.depth = waiting),
      added: () => (seen.added += 1),
      retried: () => (seen.retried += 1),
      started: (waitedMs) => seen.waited.push(waitedMs),
      paced: ({ name }) => seen.paced.push(name),
    },
    run: ({ name }, failures) =>
      new Promise((resolve, reject) => {
        names.push(name);
        runs.push({
          name,
          failures,
          end: (outcome = {}) => {
            resolve(outcome);
            return settled();
          },
          fail: () => {
            reject(new Error('refused'));
            return settled();
          },
        });
      }),
  });
  return { queue, clock, runs, names, seen };
}

describe('WorkQueue', () => {
  it('runs nothing before it starts', async () => {
    const { queue, names } = setUp();
    queue.add(key('a'));
    await settled();
    expect(names).toEqual([]);
    queue.start();
    expect(names).toEqual(['a']);
  });

  it('holds each key once, in the order in which they became due', () => {
    const { queue, names } = setUp(10);
    for (const name of ['b', 'a', 'b', 'c', 'a']) queue.add(key(name));
    queue.start();
    expect(names).toEqual(['b', 'a', 'c']);
  });

  it('distinguishes keys of equal names by kind and namespace', () => {
    const { queue, names } = setUp(10);
    queue.add(key('a'));
    queue.add({ ...key('a'), kind: 'MCPGroup' });
    queue.add({ ...key('a'), namespace: 'other' });
    queue.start();
    expect(names).toEqual(['a', 'a', 'a']);
  });

  it('delays the runs of a key that changes during every run, and of no other key', async () => {
    const { queue, names, runs, seen, clock } = setUp();
    queue.start();
    queue.add(key('fought over'));
    /** Ends every run at once and adds its key again. */
    const fight = async (): Promise<void> => {
      for (let last = runs.at(-1); last && runs.length < 1_000; last = runs.at(-1)) {
        queue.add(key(last.name));
        await last.end();
        if (runs.at(-1) === last) return;
      }
    };
    await fight();
    expect(names).toHaveLength(20);
    expect(seen.paced).toEqual(['fought over']);
    for (let second = 0; second < 60; second += 1) {
      clock.advance(1_000);
      await fight();
    }
    expect(names).toHaveLength(80);
    expect(seen.paced).toEqual(['fought over']);
    queue.add(key('other'));
    expect(names.at(-1)).toBe('other');
  });

  it('runs a key at once after a quiet period', async () => {
    const { queue, names, runs, clock } = setUp();
    queue.start();
    for (let run = 0; run < 60; run += 1) {
      queue.add(key('a'));
      clock.advance(1_000);
      expect(names).toHaveLength(run + 1);
      await runs.at(-1)?.end();
    }
    queue.add(key('a'));
    expect(names).toHaveLength(61);
  });

  it('runs at most as many keys at a time as there are workers', async () => {
    const { queue, names, runs, seen } = setUp(2);
    for (const name of ['a', 'b', 'c']) queue.add(key(name));
    queue.start();
    expect(names).toEqual(['a', 'b']);
    expect([queue.depth, seen.depth]).toEqual([1, 1]);
    await runs[1]!.end();
    expect(names).toEqual(['a', 'b', 'c']);
    expect(seen.depth).toBe(0);
  });

  it('runs a key again that was added while it ran, and never twice at a time', async () => {
    const { queue, names, runs } = setUp(4);
    queue.start();
    queue.add(key('a'));
    queue.add(key('a'));
    queue.add(key('a'));
    await settled();
    expect(names).toEqual(['a']);
    await runs[0]!.end();
    expect(names).toEqual(['a', 'a']);
    await runs[1]!.end();
    expect(names).toEqual(['a', 'a']);
  });

  it('doubles the backoff after each failure and resets it after a success', async () => {
    const { queue, clock, names, runs, seen } = setUp();
    queue.start();
    queue.add(key('a'));
    const delays: number[] = [];
    for (let i = 0; i < 4; i += 1) {
      const before = clock.now();
      await (i === 2 ? runs[i]!.end({ failed: true }) : runs[i]!.fail());
      while (names.length === i + 1) {
        clock.advance(5);
        await settled();
      }
      delays.push(clock.now() - before);
    }
    expect(delays).toEqual([5, 10, 20, 40]);
    expect(seen.retried).toBe(4);
    await runs[4]!.end();
    queue.add(key('a'));
    await runs[5]!.fail();
    clock.advance(5);
    expect(names).toHaveLength(7);
  });

  it('retries refused keys far less often and does not count them as failed', async () => {
    const { queue, clock, names, runs, seen } = setUp();
    queue.start();
    queue.add(key('a'));
    await runs[0]!.end({ refused: true });
    clock.advance(999);
    expect(names).toHaveLength(1);
    clock.advance(1);
    await runs[1]!.end({ refused: true });
    clock.advance(1_999);
    expect(names).toHaveLength(2);
    clock.advance(1);
    expect(runs[2]!.failures).toBe(0);
    await runs[2]!.fail();
    clock.advance(5);
    expect(runs[3]!.failures).toBe(1);
    await runs[3]!.end({ refused: true });
    clock.advance(1_000);
    expect(runs[4]!.failures).toBe(0);
    expect(seen.retried).toBe(4);
  });

  it('runs a key at once when it changes during its backoff, and keeps its failure count', async () => {
    const { queue, clock, names, runs } = setUp();
    queue.start();
    queue.add(key('a'));
    await runs[0]!.fail();
    queue.add(key('a'));
    expect(names).toHaveLength(2);
    await runs[1]!.fail();
    clock.advance(5);
    expect(names).toHaveLength(2);
    clock.advance(5);
    expect(names).toHaveLength(3);
  });

  it('keeps the backoff of a failed key that was added while it ran', async () => {
    const { queue, clock, names, runs } = setUp();
    queue.start();
    queue.add(key('a'));
    queue.add(key('a'));
    await runs[0]!.fail();
    expect(names).toHaveLength(1);
    clock.advance(5);
    expect(names).toHaveLength(2);
  });

  it('limits the backoff to one second when the key was added while it ran', async () => {
    const { queue, clock, names, runs } = setUp();
    queue.start();
    queue.add(key('a'));
    for (let i = 0; i < 15; i += 1) {
      await runs[i]!.fail();
      queue.add(key('a'));
    }
    queue.add(key('a'));
    await runs[15]!.fail();
    clock.advance(1000);
    expect(names).toHaveLength(17);
  });

  it('limits the backoff to 5 minutes', () => {
    expect([1, 2, 10, 17, 18, 1000].map((failures) => retryPauseMs(failures))).toEqual([
      5, 10, 2560, 300_000, 300_000, 300_000,
    ]);
  });

  it('runs a key again after the time that a run requested, or earlier when it changes', async () => {
    const { queue, clock, names, runs } = setUp();
    queue.start();
    queue.add(key('a'));
    await runs[0]!.end({ requeueAfterMs: 1000 });
    clock.advance(999);
    expect(names).toHaveLength(1);
    clock.advance(1);
    expect(names).toHaveLength(2);
    await runs[1]!.end({ requeueAfterMs: 1000 });
    clock.advance(500);
    queue.add(key('a'));
    expect(names).toHaveLength(3);
    await runs[2]!.end();
    clock.advance(10_000);
    expect(names).toHaveLength(3);
  });

  it('runs a key once when it was added several times with a delay, at the earliest time', async () => {
    const { queue, clock, names } = setUp();
    queue.start();
    queue.add(key('a'), 50);
    clock.advance(30);
    queue.add(key('a'), 50);
    await settled();
    clock.advance(19);
    expect(names).toEqual([]);
    clock.advance(1);
    expect(names).toEqual(['a']);
  });

  it('reports the time that a key was due, without its delay', async () => {
    const { queue, clock, runs, seen } = setUp(1);
    queue.start();
    queue.add(key('a'));
    queue.add(key('b'), 100);
    clock.advance(100);
    clock.advance(70);
    await runs[0]!.end();
    expect(seen.waited).toEqual([0, 70]);
  });

  it('stops when the running keys have ended; drops waiting keys and accepts no new ones', async () => {
    const { queue, clock, names, runs } = setUp(1);
    queue.start();
    queue.add(key('a'));
    queue.add(key('b'));
    queue.add(key('c'), 10);
    let stopped = false;
    const stopping = queue.stop().then(() => (stopped = true));
    await settled();
    expect(stopped).toBe(false);
    queue.add(key('d'));
    await runs[0]!.end({ requeueAfterMs: 1 });
    await stopping;
    clock.advance(1000);
    expect(names).toEqual(['a']);
  });

  it('stops at once when nothing runs', async () => {
    await expect(setUp().queue.stop()).resolves.toBeUndefined();
  });
});
