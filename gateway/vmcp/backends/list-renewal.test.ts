import { expect, it } from 'vitest';
import { BackendLists } from './backend-lists.ts';
import { ListRenewal } from './list-renewal.ts';

/** Lists of a backend that announces nothing, read at `readAt`. */
function silentLists(readAt: number): BackendLists {
  const lists = new BackendLists();
  Object.defineProperty(lists, 'isSilent', { value: true });
  lists.readAt = readAt;
  return lists;
}

function world(backends: Readonly<Record<string, BackendLists>>) {
  let now = 1_000_000;
  const read: string[] = [];
  const running: PromiseWithResolvers<undefined>[] = [];
  const renewal = new ListRenewal({
    backends: () => Object.entries(backends).map(([name, lists]) => ({ name, lists })),
    now: () => now,
    read: (name) => {
      read.push(name);
      const ending = Promise.withResolvers<undefined>();
      running.push(ending);
      return ending.promise;
    },
  });
  return {
    renewal,
    read,
    advance: (ms: number) => void (now += ms),
    async end() {
      for (const { resolve } of running.splice(0)) resolve(undefined);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

const NOW = 1_000_000;
const oldSession = { startedAt: 0 };
const newSession = { startedAt: NOW };

it('reads lists that are older than ten seconds in the background, and does not wait for them', () => {
  const { renewal, read } = world({ young: silentLists(NOW - 9_000), older: silentLists(NOW - 11_000) });
  expect(renewal.requested(oldSession)).toBeUndefined();
  expect(read).toEqual(['older']);
});

it('waits for lists that are older than a minute, and for others in a new session', async () => {
  for (const [session, age] of [
    [oldSession, 61_000],
    [newSession, 11_000],
  ] as const) {
    const { renewal, end } = world({ one: silentLists(NOW - age) });
    let isOver = false;
    const waiting = renewal.requested(session)?.then(() => (isOver = true));
    expect(renewal.requested(session)).toBeDefined(); // every request waits meanwhile
    await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    await end();
    await waiting;
    expect(renewal.requested(session)).toBeUndefined();
  }
});

it('waits for a second at most', async () => {
  const { renewal } = world({ hangs: silentLists(0) });
  const began = performance.now();
  await renewal.requested(oldSession);
  expect(performance.now() - began).toBeGreaterThan(900);
});

it('reads no list twice at a time, and none of a backend that announces changes', () => {
  const { renewal, read, advance } = world({ announces: new BackendLists(), silent: silentLists(0) });
  for (let second = 0; second < 100; second += 1) {
    void renewal.requested(newSession);
    advance(1_000);
  }
  expect(read).toEqual(['silent']);
});

it('reads at an unknown name only the possible backends, once a second at most', async () => {
  const { renewal, read, advance, end } = world({ a: silentLists(0), b: silentLists(0) });
  const isPossible = (name: string) => name === 'a';
  expect(renewal.unknown(isPossible)).toBeDefined();
  expect(renewal.unknown((name) => name === 'c')).toBeUndefined();
  await end();
  expect(renewal.unknown(isPossible)).toBeUndefined();
  advance(1_001);
  expect(renewal.unknown(isPossible)).toBeDefined();
  expect(read).toEqual(['a', 'a']);
});

it('reads a list that takes long less often, but at least every minute', async () => {
  const lists = silentLists(NOW);
  lists.tookMs = 2_000;
  const { renewal, read, advance, end } = world({ long: lists });
  for (let second = 0; second < 39; second += 1) {
    advance(1_000);
    void renewal.requested(oldSession);
  }
  expect(read).toEqual([]);
  advance(1_000);
  void renewal.requested(oldSession);
  expect(read).toEqual(['long']);
  await end();
  lists.tookMs = 10_000;
  advance(60_000);
  void renewal.requested(oldSession);
  expect(read).toEqual(['long', 'long']);
});

it('reads lists at least every minute while clients wait for announcements', async () => {
  const { renewal, read, advance, end } = world({ one: silentLists(NOW) });
  for (let sweep = 0; sweep < 4; sweep += 1) {
    advance(30_000);
    renewal.awaited();
    await end();
  }
  expect(read.length).toBeGreaterThanOrEqual(2);
});
