import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AuditConfig } from '../../../gateway/contract/run-config/audit.ts';
import { eventually } from '../../harness/poll.ts';
import { testScope } from '../../harness/scope.ts';
import { temporaryFolder } from '../../harness/vmcp.ts';
import { callsIn, wholeLines } from './lines.ts';
import { startAudited } from './start-gateway.ts';

/** Events of 100 kB, of which the queue holds 160. */
const BIG = { logFile: '', includeRequestData: true, maxDataSize: 200_000 };
const TEXT = 'x'.repeat(100_000);

/** Shell commands that read standard input slowly. */
const READERS = {
  stalled: 'sleep 0.1',
  throttled: 'head -c 10000 >>"$0.read"; sleep 0.2', // at most 50 kB/s: an event in 2 s, so that a busy machine is faster, too
} as const;

/** Starts a gateway whose audit log goes to a reader, which takes everything once `release` is called. */
async function startOver(reader: keyof typeof READERS, audit: AuditConfig = {}) {
  const scope = testScope();
  const tap = join(await temporaryFolder(scope), 'tap');
  // ends with the folder of a test that fails
  const read = `until [ -e "$0" ] || [ ! -d "\${0%/*}" ]; do ${READERS[reader]}; done; exec cat >>"$0.read"`;
  const launcher = ['bash', '-c', `exec "$@" > >(${read})`, tap];
  const gateway = await startAudited(scope, { ...BIG, ...audit }, { launcher });
  return {
    ...gateway,
    release: () => {
      writeFileSync(tap, '');
    },
    /** Number of calls that the reader has received. */
    recorded: () => (existsSync(`${tap}.read`) ? callsIn(wholeLines(`${tap}.read`)).length : 0),
  };
}

describe('an audit log whose reader is too slow', () => {
  it.each(['stalled', 'throttled'] as const)(
    'counts every event that a %s reader does not receive, and continues afterwards',
    async (reader) => {
      const { call, dropped, recorded, release } = await startOver(reader);
      let made = 0;
      const isOverloaded = async (): Promise<boolean> =>
        made > 10 * recorded() && (await dropped('queue_full')) > made / 2;
      await eventually(
        'ten times more calls are made than recorded',
        async () => {
          const statuses = await Promise.all(Array.from({ length: 50 }, () => call(TEXT)));
          expect(new Set(statuses)).toEqual(new Set([200]));
          made += statuses.length;
          return isOverloaded();
        },
        { intervalMs: 0, timeoutMs: 60_000 },
      );
      release();
      const lost = await dropped('queue_full');
      await eventually('the queue is read', () => recorded() >= made - lost);
      for (let more = 0; more < 3; more += 1) expect(await call('small')).toBe(200);
      await eventually('new events are read', () => recorded() >= made - lost + 3);
      expect(recorded()).toBe(made - lost + 3);
      expect([await dropped('queue_full'), await dropped('write_failed')]).toEqual([lost, 0]);
    },
  );

  it('rejects calls with 503, and loses no event of another, with onOverflow: refuse', async () => {
    const { call, dropped, origin, recorded, release } = await startOver('throttled', { onOverflow: 'refuse' });
    const statuses: number[] = [];
    const made = (status: number): number => statuses.filter((each) => each === status).length;
    await eventually(
      'most calls are rejected',
      async () => {
        statuses.push(...(await Promise.all(Array.from({ length: 20 }, () => call(TEXT)))));
        return made(503) > made(200);
      },
      { intervalMs: 0, timeoutMs: 60_000 },
    );
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    const refused = await fetch(`${origin}/mcp`, { method: 'POST' });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await fetch(`${origin}/readyz`)).status).toBe(200);
    release();
    await eventually('calls are accepted again', async () => (await call('small')) === 200);
    await eventually('every accepted call is read', () => recorded() === made(200) + 1);
    expect([await dropped('queue_full'), await dropped('write_failed')]).toEqual([0, 0]);
  });
});
