import { expect, it } from 'vitest';
import { raw } from '../../harness/clients/raw.ts';
import { testScope } from '../../harness/scope.ts';
import { startAuthServer } from '../auth-server/gateway.ts';

const REQUESTS = 12;
/** Looks like the start of a token again and again: patterns with backtracking read it in quadratic time. */
const TOKENS = 'eyJ-vmcp-'.repeat(6_700);
/** Quadratic patterns took 14 s for these requests; linear ones take some milliseconds. */
const LIMIT_MS = 3_000;

it.each<[string, { path: string; headers: Record<string, string> }]>([
  ['path', { path: `/oauth/register/${TOKENS}`, headers: {} }],
  ['Origin', { path: '/mcp', headers: { origin: TOKENS } }],
])(
  'answers a liveness probe while it logs requests with many token-like words in the %s',
  async (_, { path, headers }) => {
    const { vmcp } = await startAuthServer(testScope());
    const started = performance.now();
    const flood = Promise.allSettled(Array.from({ length: REQUESTS }, () => raw(`${vmcp.origin}${path}`, { headers })));
    const { status } = await raw(`${vmcp.origin}/health`);
    expect([status, performance.now() - started < LIMIT_MS]).toEqual([200, true]);
    for (const answer of await flood) {
      expect(answer.status === 'fulfilled' && answer.value.status).toBeGreaterThanOrEqual(400);
    }
    expect(performance.now() - started).toBeLessThan(LIMIT_MS);
  },
);
