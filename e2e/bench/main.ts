/** `npm run bench`: runs the workloads, prints tables in Markdown and writes all measurements as JSON. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, release, tmpdir, totalmem, type } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { engines } from './load/engines.ts';
import { parseOptions, USAGE, UsageError, type Options } from './options.ts';
import { endAll, stopAll } from './processes.ts';
import { toMarkdown } from './table.ts';
import type { Bench, Report } from './workload.ts';
import { WORKLOADS } from './workloads/index.ts';

const root = resolve(import.meta.dirname, '../..');
const log = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

function machine(): string {
  const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
  const [cpu] = cpus();
  return `${String(cpus().length)} x ${cpu?.model.trim() ?? 'unknown CPU'}, ${memory}, ${type()} ${release()}, Node ${process.version}`;
}

function readOptions(): Options {
  try {
    return parseOptions(
      process.argv.slice(2),
      WORKLOADS.map(({ id }) => id),
    );
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    log(`${error.message}\n${USAGE}`);
    process.exit(2);
  }
}

/** Runs the chosen workloads one after another; after a failure the others still run. */
async function runAll(bench: Bench): Promise<{ reports: Report[]; failures: string[] }> {
  const reports: Report[] = [];
  const failures: string[] = [];
  for (const { id, title, run } of WORKLOADS) {
    if (bench.options.only && !bench.options.only.includes(id)) continue;
    log(`${id}: ${title}`);
    try {
      reports.push(await run(bench));
    } catch (error) {
      failures.push(`${id}: ${error instanceof Error ? error.message : String(error)}`);
      log(`failed: ${failures.at(-1) ?? ''}`);
    } finally {
      await stopAll();
    }
  }
  return { reports, failures };
}

if (process.argv.includes('--help')) {
  process.stdout.write(`${USAGE}\n`);
  process.exit(0);
}
const options = readOptions();
const [engine] = engines();
const folder = mkdtempSync(join(tmpdir(), 'vmcp-bench-'));
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void endAll().finally(() => {
      rmSync(folder, { recursive: true, force: true });
      process.exit(1);
    });
  });
}

const { reports, failures } = await runAll({ options, engine, folder, root: resolve(options.checkout ?? root), log });
rmSync(folder, { recursive: true });
const head = {
  date: new Date().toISOString(),
  machine: machine(),
  load: engine.name === 'wrk' ? 'wrk' : 'autocannon, because wrk is not installed: latencies in whole milliseconds',
  rounds: options.rounds,
  secondsPerRound: options.seconds,
};
const json = resolve(root, options.json);
mkdirSync(dirname(json), { recursive: true });
writeFileSync(json, `${JSON.stringify({ ...head, reports, failures }, null, 2)}\n`);

const rounds = `medians of ${String(options.rounds)} interleaved rounds of ${String(options.seconds)} s`;
const failed = failures.map((failure) => `- failed: ${failure}\n`).join('');
process.stdout.write(
  `${head.machine}; ${rounds}; load by ${head.load}; ${head.date}\n\n${toMarkdown(reports)}\n${failed}`,
);
process.exit(failures.length === 0 ? 0 : 1);
