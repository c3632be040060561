/**
 * `make bench BASE=DIR`: measures the gateways of this checkout and of another and prints the ratio of each round. Both
 * benchmarks run at the same time and measure in turn, a few seconds each, so that a drifting CPU speed does not affect the
 * ratios. Both get the load and the backends of this checkout.
 */
import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { compare, toPairedMarkdown, type RunReport } from './pairs.ts';
import { IN_PAIR, Turns, type Step } from './turns.ts';

const USAGE =
  'usage: node e2e/bench/paired.ts --base DIR [--rounds 7] [--seconds 2] [--connections 1,32,256] [--only W1,W4]';
const root = resolve(import.meta.dirname, '../..');

const { values } = parseArgs({
  options: {
    base: { type: 'string' },
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '1,32,256' },
    only: { type: 'string' },
  },
});
if (values.base === undefined) {
  process.stderr.write(`${USAGE}\n`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'vmcp-paired-'));
process.once('exit', () => {
  rmSync(folder, { recursive: true, force: true });
});

const turns = new Turns((bench, signal) => void benches[bench]?.child.send(signal));
const benches = [root, resolve(values.base)].map((checkout, bench) => startBench(checkout, bench));

/** Starts the benchmark of the gateway in `checkout`, without the bare proxy. */
function startBench(checkout: string, bench: number) {
  const json = join(folder, `${String(bench)}.json`);
  const only = values.only === undefined ? [] : ['--only', values.only];
  const { rounds, seconds, connections } = values;
  const load = ['--rounds', rounds, '--seconds', seconds, '--connections', connections, ...only];
  const argv = [...load, '--targets', 'gateway', '--checkout', checkout, '--json', json];
  const child = fork(join(root, 'e2e/bench/main.ts'), argv, {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, [IN_PAIR]: '1' },
  });
  child.on('message', (step: Step) => {
    if (step === 'ready') turns.ready(bench);
    else turns.done(bench);
  });
  const report = new Promise<RunReport>((done) => {
    child.once('exit', (code) => {
      turns.left(bench);
      if (code === 2 || code === null) process.exit(1);
      done(JSON.parse(readFileSync(json, 'utf8')) as RunReport);
    });
  });
  return { child, report };
}

const [head, base] = await Promise.all(benches.map(({ report }) => report));
if (!head || !base) throw new Error('a benchmark has no report');
for (const failure of [...head.failures, ...base.failures]) process.stderr.write(`failed: ${failure}\n`);
process.stdout.write(`${toPairedMarkdown(compare(head, base))}\n`);
process.exit(head.failures.length === 0 ? 0 : 1);
