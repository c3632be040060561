import type { Dispatcher } from 'undici';
import { expect, it } from 'vitest';
import { createLog } from '../../../telemetry/log.ts';
import { StreamPlaces } from '../../budgets/stream-places.ts';
import { STREAM_LIMITS } from '../../budgets/limits.ts';
import { StreamListener } from './stream-listener.ts';

it('waits as long as the backend asks by retry before it opens a closed stream again', async () => {
  const openedAt: number[] = [];
  const request = (): Promise<unknown> => {
    openedAt.push(performance.now());
    const body = [Buffer.from('id: a\nretry: 1800\ndata: \n\n')];
    return Promise.resolve({ statusCode: 200, headers: { 'content-type': 'text/event-stream' }, body });
  };
  const listener = new StreamListener({
    dispatcher: { request } as unknown as Dispatcher,
    place: { origin: 'http://backend', path: '/mcp' },
    headers: () => Promise.resolve([]),
    maxEventBytes: 1_000,
    onMessage: () => undefined,
    onSessionLost: () => undefined,
    places: new StreamPlaces(STREAM_LIMITS),
    account: undefined,
    log: createLog(process.stderr, 'error'),
  });
  await expect.poll(() => openedAt.length).toBe(2);
  listener.close();
  const [first = 0, second = 0] = openedAt;
  expect(second - first).toBeGreaterThan(1_780);
});
