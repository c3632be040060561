import type { Engine, Load, Plan } from './load/load.ts';
import { median, medianOrNull, ratiosByRound } from './statistics.ts';
import { inTurn } from './turns.ts';
import { usage } from './usage.ts';

/** One slice, or the medians of several, member by member. */
export interface Measurement {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU seconds of the server process per 1,000 units of work; null on systems without /proc. */
  readonly cpuSecondsPerThousand: number | null;
  readonly rssMb: number | null;
}

/** Medians of a contender, with the rate of each round to show the spread. */
export interface Series extends Measurement {
  readonly perSecondByRound: readonly number[];
}

export function toSeries(slices: readonly Measurement[]): Series {
  return {
    perSecondByRound: slices.map(({ perSecond }) => perSecond),
    perSecond: median(slices.map(({ perSecond }) => perSecond)),
    p50Ms: median(slices.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(slices.map(({ p99Ms }) => p99Ms)),
    cpuSecondsPerThousand: medianOrNull(slices.map(({ cpuSecondsPerThousand }) => cpuSecondsPerThousand)),
    rssMb: medianOrNull(slices.map(({ rssMb }) => rssMb)),
  };
}

/** Returns the rate divided by that of `base`: the median over the rounds, because the speed of a machine changes between them. */
export const ratioOf = ({ perSecondByRound }: Series, base: Series): number =>
  median(ratiosByRound(perSecondByRound, base.perSecondByRound));

/** Runs a load and measures the CPU time of the server process. Throws when a request failed. */
export async function measure(pid: number, what: string, run: () => Promise<Load>): Promise<Measurement> {
  const before = usage(pid);
  const load = await run();
  const after = usage(pid);
  if (Object.keys(load.failures).length > 0 || load.requests === 0) {
    throw new Error(`${what}: of ${String(load.requests)} requests failed ${JSON.stringify(load.failures)}`);
  }
  const cpuSeconds = before && after ? after.cpuSeconds - before.cpuSeconds : null;
  return {
    perSecond: load.requests / load.seconds,
    p50Ms: load.p50Ms,
    p99Ms: load.p99Ms,
    cpuSecondsPerThousand: cpuSeconds === null ? null : (cpuSeconds / load.requests) * 1_000,
    rssMb: after?.rssMb ?? null,
  };
}

export interface Contender {
  readonly name: string;
  readonly pid: number;
  readonly plan: Plan;
}

/** Runs `slice` for every contender in every round; each round starts with another contender. */
export async function interleave<C extends { readonly name: string }, S>(
  contenders: readonly C[],
  rounds: number,
  slice: (contender: C) => Promise<S>,
): Promise<ReadonlyMap<string, readonly S[]>> {
  const slices = new Map<string, S[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < contenders.length; turn += 1) {
      const contender = contenders[(round + turn) % contenders.length];
      if (contender) slices.get(contender.name)?.push(await inTurn(() => slice(contender)));
    }
  }
  return slices;
}

/** Interleaves the contenders after one uncounted warm-up round. */
export async function measureInTurn<C extends { readonly name: string }>(
  contenders: readonly C[],
  rounds: number,
  slice: (contender: C) => Promise<Measurement>,
): Promise<ReadonlyMap<string, Series>> {
  await interleave(contenders, 1, slice);
  const slices = await interleave(contenders, rounds, slice);
  return new Map([...slices].map(([name, values]) => [name, toSeries(values)]));
}

/** Runs HTTP load on every contender in turn. */
export function loadInTurn(
  engine: Engine,
  contenders: readonly Contender[],
  { connections, rounds, seconds }: { connections: number; rounds: number; seconds: number },
): Promise<ReadonlyMap<string, Series>> {
  return measureInTurn(contenders, rounds, ({ name, pid, plan }) =>
    measure(pid, `${name}, ${String(connections)} connections`, async () => {
      const load = await engine.run(plan, connections, seconds);
      const bytesEach = load.bytes / load.requests;
      if (bytesEach >= (plan.minBytes ?? 0)) return load;
      return { ...load, failures: { ...load.failures, [`replies of ${bytesEach.toFixed(0)} bytes`]: load.requests } };
    }),
  );
}
