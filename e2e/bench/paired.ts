/**
 * `make bench BASE=DIR`: alternates the benchmark of this checkout with that of another and prints the ratio of each pair.
 * Each pair runs within a minute or two, so that a drifting CPU speed does not affect the ratios.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { compare, toPairedMarkdown, type RunReport } from './pairs.ts';

const USAGE =
  'usage: node e2e/bench/paired.ts --base DIR [--pairs 7] [--seconds 2] [--connections 1,32,256] [--only W1,W4]';
const root = resolve(import.meta.dirname, '../..');

const { values } = parseArgs({
  options: {
    base: { type: 'string' },
    pairs: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '1,32,256' },
    only: { type: 'string' },
  },
});
const pairs = Number(values.pairs);
if (values.base === undefined || !Number.isInteger(pairs) || pairs < 1) {
  process.stderr.write(`${USAGE}\n`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'vmcp-paired-'));
process.once('exit', () => {
  rmSync(folder, { recursive: true, force: true });
});

/** Runs the benchmark of `checkout` once, without the bare proxy, and returns its report. */
function runOnce(checkout: string, pair: number): RunReport {
  const json = join(folder, `${String(pair)}.json`);
  const only = values.only === undefined ? [] : ['--only', values.only];
  const argv = ['--rounds', '1', '--seconds', values.seconds, '--connections', values.connections, ...only];
  const { status } = spawnSync(
    process.execPath,
    [join(checkout, 'e2e/bench/main.ts'), ...argv, '--targets', 'gateway', '--json', json],
    { cwd: checkout, stdio: ['ignore', 'ignore', 'ignore'] },
  );
  if (status === null) process.exit(1);
  return JSON.parse(readFileSync(json, 'utf8')) as RunReport;
}

const base = resolve(values.base);
const measured = Array.from({ length: pairs }, (_, pair) => {
  process.stderr.write(`pair ${String(pair + 1)} of ${String(pairs)}\n`);
  const order = pair % 2 === 0 ? [root, base] : [base, root];
  const runs = new Map(order.map((checkout) => [checkout, runOnce(checkout, pair)]));
  return {
    head: runs.get(root) ?? { reports: [], failures: [] },
    base: runs.get(base) ?? { reports: [], failures: [] },
  };
});
for (const failure of measured.flatMap(({ head }) => head.failures)) process.stderr.write(`failed: ${failure}\n`);
process.stdout.write(`${toPairedMarkdown(compare(measured))}\n`);
process.exit(measured.some(({ head }) => head.failures.length > 0) ? 1 : 0);
