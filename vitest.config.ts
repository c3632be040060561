import { spawnSync } from 'node:child_process';
import { defineConfig } from 'vitest/config';
import { pureTests } from './e2e/harness/pure-tests.ts';

const outside = ['**/node_modules/**', 'dist/**', '.cache/**'];
/** Without Redis they are skipped, and `make redis` prints `not applicable`. */
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
/** Files of the third lane, after those of the operator: most use less than half of a core, the others make the lanes equally long. */
const waiting = [
  'e2e/{command-line,harness}/**/*.test.ts',
  'e2e/scenarios/{drain,issuer-outages,resilience,starting-backends,stream-liveness,watch}.test.ts',
  'e2e/scenarios/{audit/files,policies/rate-limits,telemetry/export,threats/outages}.test.ts',
  'e2e/scenarios/auth-server/{addresses,failover,observed,replicas,restart,store-rights}.test.ts',
  'e2e/faults/deaf-client.test.ts',
  'e2e/workloads/{crash-loops,engine-outage,interrupted,lifecycle,logs,remote-login}.test.ts',
  'e2e/charts/gateway-alerts.test.ts',
  'e2e/examples/examples.test.ts',
];
/** They stop parts of a control plane of their own, or wait for leases. */
const waitingForLeases = ['e2e/operator/{leadership,outages,two-operators}.test.ts'];
/** Scenarios that run after those of the operator: they make the lanes equally long. */
const ofTheSecondLane = [
  'e2e/{charts,conformance,examples,faults,regressions,replicas,workloads}/**/*.test.ts',
  'e2e/scenarios/{login,misuse,names,outgoing-auth,quickstart,stdio,threats/{auth-server-flows,auth-server-upstreams}}.test.ts',
];
const pure = pureTests(import.meta.dirname);
/** `--project unit` alone runs the pure tests too. */
const isUnitAlone = process.argv.includes('unit') && !process.argv.includes('pure');
const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** Tests start real processes and real servers: the limits suit a busy machine with two cores. */
export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2, // with 3 on two cores, short timeouts of probes and handshakes fail in tests that check other things
    // Node runs the sources as users' tools do. Vite would transform each file in each lane: a tenth of the CPU time.
    experimental: { viteModuleRunner: false },
    isolate: false, // files share the processes: one for each took a tenth to a fifth of the CPU time
    setupFiles: ['./e2e/harness/run/each-file.ts'],
    maxConcurrency: 3, // tests of one file with `describe.concurrent`: scenarios that mostly wait
    restoreMocks: true,
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
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['**/*.test.ts'],
          exclude: [...outside, 'e2e/**', ...(isUnitAlone ? [] : pure), ...(hasRedis ? [] : needRedis)],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['e2e/**/*.test.ts'],
          exclude: [
            ...outside,
            'e2e/{cluster,operator}/**',
            ...waiting,
            ...ofTheSecondLane,
            ...ofTheBenchmark,
            ...pure,
          ],
          testTimeout: 90_000,
          hookTimeout: 120_000,
        },
      },
      {
        // Like those of `e2e`, but in the second lane of a run: e2e/harness/run/lanes.ts.
        extends: true,
        test: {
          name: 'e2e-beside',
          include: ofTheSecondLane,
          exclude: [...outside, ...waiting, ...pure],
          testTimeout: 90_000,
          hookTimeout: 120_000,
        },
      },
      {
        // Like those of `e2e`, but in the third lane of a run.
        extends: true,
        test: {
          name: 'e2e-waiting',
          include: waiting,
          exclude: [...outside, ...pure],
          testTimeout: 90_000,
          hookTimeout: 120_000,
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
          sequence: { groupOrder: 1 },
          testTimeout: 90_000,
          hookTimeout: 120_000,
        },
      },
      {
        // On a control plane without nodes, from the programs that `make control-plane` builds.
        extends: true,
        test: {
          name: 'operator',
          include: ['e2e/operator/**/*.test.ts'],
          globalSetup: ['./e2e/operator/setup.ts'],
          exclude: [...outside, ...waitingForLeases],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        // On a control plane for each file, in the third lane of a run.
        extends: true,
        test: {
          name: 'operator-waiting',
          include: waitingForLeases,
          exclude: outside,
          testTimeout: 120_000,
          hookTimeout: 120_000,
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
          sequence: { groupOrder: 2 },
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
