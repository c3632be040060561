import { usage } from '../bench/usage.ts';
import { percentile } from '../bench/statistics.ts';
import { textOf, type RawSession } from '../harness/clients/raw.ts';

const WORKERS = 3;
const SAMPLE_MS = 50;

/** Measurements of the healthy backends while `work` ran. */
export interface Beside<T> {
  readonly value: T;
  readonly p99Ms: number;
  readonly calls: number;
  /** Wrong replies. */
  readonly wrong: readonly string[];
  /** Peak growth of the gateway's resident memory; 0 on systems without /proc. */
  readonly grownMb: number;
}

/** Calls `tools` in turn until `work` is done: with a worker for each session, or with three workers for a single session. */
export async function measureBeside<T>(
  pid: number,
  sessions: RawSession | readonly RawSession[],
  tools: readonly string[],
  work: () => Promise<T>,
): Promise<Beside<T>> {
  const latencies: number[] = [];
  const wrong: string[] = [];
  let done = false as boolean;
  const before = usage(pid)?.rssMb ?? 0;
  let peak = before;
  const sampler = setInterval(() => (peak = Math.max(peak, usage(pid)?.rssMb ?? 0)), SAMPLE_MS);
  const worker = async (session: RawSession, start: number): Promise<void> => {
    for (let turn = start; !done; turn += 1) {
      const tool = tools[turn % tools.length] ?? '';
      const began = performance.now();
      const text = textOf(await session.call(tool, { text: 'healthy' }));
      latencies.push(performance.now() - began);
      if (!text.endsWith('healthy')) wrong.push(text);
    }
  };
  const all = Array.isArray(sessions) ? sessions : Array.from({ length: WORKERS }, () => sessions as RawSession);
  const workers = Promise.all(all.map(worker));
  try {
    const value = await work();
    done = true;
    await workers;
    return { value, p99Ms: percentile(latencies, 99), calls: latencies.length, wrong, grownMb: peak - before };
  } finally {
    done = true;
    clearInterval(sampler);
  }
}
