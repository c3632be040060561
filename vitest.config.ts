import { spawnSync } from 'node:child_process';
import { defineConfig } from 'vitest/config';

const outside = ['**/node_modules/**', 'dist/**', '.cache/**'];
/** `make redis` says that they are left out (`not applicable`). */
const needRedis = [
  'gateway/authserver/storage/{index,kvstore,kvstore-cluster,kvstore-sentinel}.test.ts',
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
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['**/*.test.ts'],
          exclude: [...outside, 'e2e/**', ...(hasRedis ? [] : needRedis)],
          testTimeout: 20_000,
          hookTimeout: 20_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['e2e/**/*.test.ts'],
          exclude: outside,
          testTimeout: 90_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
