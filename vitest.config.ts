import { spawnSync } from 'node:child_process';
import { defineConfig } from 'vitest/config';
import { pureTests } from './e2e/harness/pure-tests.ts';

const outside = ['**/node_modules/**', 'dist/**', '.cache/**'];
/** Without Redis they are skipped, and `make programs` prints `not applicable`. */
const needRedis = [
  'gateway/authserver/storage/{index,kvstore/{store,cluster,sentinel}}.test.ts',
  'gateway/authserver/endpoints/{assertion,browser/replicas,replicas}.test.ts',
  'gateway/authserver/sessions/{upstream-tokens-conformance,embedded-boundary,two-processes}.test.ts',
  'gateway/kvstore/open.test.ts',
  'gateway/session-storage.test.ts',
  'gateway/policy/rate-limit/store-buckets.test.ts',
];
/** They start load generators: `make bench` runs them before it measures. */
const ofTheBenchmark = ['e2e/bench/bench.test.ts', 'e2e/bench/soak/soak.test.ts'];
const pure = pureTests(import.meta.dirname);
/** `--project unit` alone runs the pure tests too. */
const isUnitAlone = process.argv.includes('unit') && !process.argv.includes('pure');
/** A test that hangs ends after this time. A pipeline whose machine is three times slower than a laptop stays below it. */
const LIMIT_MS = 240_000;
const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** Tests start real processes and real servers: the limits suit a busy machine with two cores. */
export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    // Node runs the sources as users' tools do. Vite would transform each file in each lane: a tenth of the CPU time.
    experimental: { viteModuleRunner: false },
    isolate: false, // files share the processes: one for each took a tenth to a fifth of the CPU time
    setupFiles: ['./e2e/harness/run/each-file.ts'],
    maxConcurrency: 3, // tests of one file with `describe.concurrent`: scenarios that mostly wait
    testTimeout: LIMIT_MS,
    hookTimeout: LIMIT_MS,
    restoreMocks: true,
    chaiConfig: { truncateThreshold: 0 }, // the list of failures in a pipeline's log has the whole message
    unstubEnvs: true,
    expect: { poll: { timeout: 10_000 } },
    projects: [
      {
        // Tests that start nothing share threads: no process for each file.
        extends: true,
        test: {
          name: 'pure',
          include: pure,
          exclude: outside,
          pool: 'threads',
        },
      },
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['**/*.test.ts'],
          exclude: [...outside, 'e2e/**', ...(isUnitAlone ? [] : pure), ...(hasRedis ? [] : needRedis)],
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['e2e/**/*.test.ts'],
          exclude: [...outside, 'e2e/{cluster,operator}/**', ...ofTheBenchmark, ...pure],
          maxWorkers: 3, // files that wait beside files that compute
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'bench',
          include: ofTheBenchmark,
          exclude: outside,
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
      {
        // On a control plane without nodes, from the programs that `make control-plane` builds.
        extends: true,
        test: {
          name: 'operator',
          include: ['e2e/operator/**/*.test.ts'],
          globalSetup: ['./e2e/operator/setup.ts'],
          exclude: outside,
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
      {
        // On a whole node: `make e2e`.
        extends: true,
        test: {
          name: 'cluster',
          include: ['e2e/cluster/**/*.test.ts'],
          globalSetup: ['./e2e/cluster/harness/teardown.ts'],
          exclude: outside,
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 4 },
        },
      },
    ],
  },
});
