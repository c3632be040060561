import { randomUUID } from 'node:crypto';
import type { PolicyDeps } from '../policy.ts';
import { MemoryBuckets } from '../rate-limit/memory-buckets.ts';

/** What policies get from the virtual server `front`; nothing is observed, and no service can be called. */
export const policyDeps = (): PolicyDeps => ({
  now: () => 0,
  server: 'front',
  namespace: 'team',
  newId: randomUUID,
  log: { warn: () => undefined },
  readSecret: (file) => {
    throw new Error(`no file ${file}`);
  },
  createClient: () => () => Promise.reject(new Error('no service')),
  observeWebhook: () => undefined,
  buckets: new MemoryBuckets(() => 0),
  rateLimits: {
    decided: () => undefined,
    failedOpen: () => undefined,
    storeFailed: () => undefined,
    storeAnswered: () => undefined,
  },
});
