import { spawnSync } from 'node:child_process';
import { defineConfig } from 'vitest/config';

const outside = ['**/node_modules/**', 'dist/**', '.cache/**'];
/** `make redis` says that they are left out (`not applicable`). */
const needRedis = [
  'gateway/authserver/storage/{index,kvstore/{store,cluster,sentinel}}.test.ts',
  'gateway/authserver/endpoints/{assertion,browser-replicas,replicas}.test.ts',
  'gateway/authserver/sessions/{upstream-tokens-conformance,embedded-boundary,two-processes}.test.ts',
  'gateway/kvstore/open.test.ts',
];
const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** Tests start real processes and real servers, so the limits leave room for a busy machine with two cores. */
export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    restoreMocks: true,
    unstubEnvs: true,
    expect: { poll: { timeout: 10_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['**/*.test.ts'],
          exclude: [...outside, 'e2e/**', ...(hasRedis ? [] : needRedis)],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['e2e/**/*.test.ts'],
          exclude: [...outside, 'e2e/cluster/**', 'e2e/operator/**'],
          testTimeout: 90_000,
          hookTimeout: 120_000,
        },
      },
      {
        // A control plane without nodes, of the programs that `make cluster-binaries` builds.
        extends: true,
        test: {
          name: 'operator',
          include: ['e2e/operator/**/*.test.ts'],
          globalSetup: ['./e2e/operator/setup.ts'],
          exclude: outside,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        // A whole node: `make e2e`.
        extends: true,
        test: {
          name: 'cluster',
          include: ['e2e/cluster/**/*.test.ts'],
          exclude: outside,
          maxWorkers: 1,
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
