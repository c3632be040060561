/**
 * `make e2e`: packs the images, starts a cluster, installs the charts, runs the scenarios and deletes the cluster.
 *   node e2e/cluster/main.ts [--keep] [arguments of vitest]       E2E_CLUSTER=node (default) or kind
 * Its last lines are the tally of the tests, the platform and the duration.
 */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../harness/vmcp.ts';
import { attempt, run } from './harness/command.ts';
import { Cluster, environmentOf, OPERATOR_NAMESPACE } from './harness/cluster.ts';
import { ALL_GROUNDS, type Platform, type Reach } from './harness/platform.ts';
import { platformNamed } from './harness/platforms.ts';

const args = process.argv.slice(2).filter((arg) => arg !== '--keep');
const keep = process.argv.includes('--keep');

const started = performance.now();
const seconds = (): string => `${((performance.now() - started) / 1000).toFixed(0)} s`;
const log = (what: string): void => {
  console.log(`e2e: ${what} (${seconds()})`);
};

async function packImages(): Promise<string[]> {
  const folder = join(root, '.cache', 'images');
  await mkdir(folder, { recursive: true });
  await run(join(root, 'e2e', 'cluster', 'images.sh'), ['none'], { inherit: true });
  return (await readdir(folder)).filter((file) => file.endsWith('.tar')).map((file) => join(folder, file));
}

/** Runs the scenarios and returns their exit code. */
async function runScenarios(platform: Platform, reach: Reach): Promise<number> {
  const runner = join(root, 'e2e', 'harness', 'run', 'run-tests.ts');
  const env = environmentOf(platform.name, reach);
  const timeoutMs = 60 * 60_000;
  return (await attempt(process.execPath, [runner, '--project', 'cluster', ...args], { inherit: true, env, timeoutMs }))
    .code;
}

async function saveLogs(platform: Platform): Promise<void> {
  const folder = join(root, '.cache', 'e2e-logs');
  await rm(folder, { recursive: true, force: true });
  const result = await platform.saveLogs(folder).then(
    () => `logs of the cluster: ${folder}`,
    (error: unknown) => `the logs of the cluster could not be saved: ${String(error)}`,
  );
  console.error(`e2e: ${result}`);
}

async function main(): Promise<number> {
  const platform = platformNamed(process.env['E2E_CLUSTER'] ?? 'node');
  const why = await platform.impossible();
  if (why !== undefined) {
    const other = platform.name === 'node' ? '; with Docker and kind: E2E_CLUSTER=kind make e2e' : '';
    console.error(`not applicable: ${why}${other}`);
    return 1;
  }
  const ground = await platform.describe();
  const archives = await packImages();
  log('images packed');
  let passed = false;
  try {
    const reach = await platform.up();
    log(`${ground} is up`);
    await platform.load(archives);
    await new Cluster(reach).installCharts();
    log(`charts installed in ${OPERATOR_NAMESPACE}`);
    const code = await runScenarios(platform, reach);
    const others = ALL_GROUNDS.filter((each) => each !== ground);
    log(`ran on a ${ground}; not run on: ${others.join(', ')}`);
    if (keep) console.log(`e2e: the cluster stays: export KUBECONFIG=${reach.kubeconfig}`);
    passed = code === 0;
    return code;
  } finally {
    if (!passed) await saveLogs(platform);
    if (!keep) await platform.down();
  }
}

// Ctrl-C ends the scenarios, which share the terminal; this process still deletes the cluster.
process.on('SIGINT', () => undefined);
process.exitCode = await main().catch((error: unknown) => {
  console.error(`e2e: ${error instanceof Error ? error.message : String(error)}`);
  return 1;
});
