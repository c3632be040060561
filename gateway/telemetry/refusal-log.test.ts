import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { createLog } from './log.ts';
import { MAX_LINES, RefusalLog } from './refusal-log.ts';

function logAt(level: 'debug' | 'info') {
  const lines: Record<string, unknown>[] = [];
  const write = (chunk: Buffer, _encoding: string, done: () => void): void => {
    lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
    done();
  };
  return { log: createLog(new Writable({ write }), level), lines };
}

const refusal = (kind: string, id: number) =>
  ({ kind, level: 'info', message: 'request refused', facts: { request_id: String(id) } }) as const;

it('logs a limited number of refusals per kind, then the count of the others, and starts over', async () => {
  const { log, lines } = logAt('info');
  const refusals = new RefusalLog(log, 200);
  for (let id = 0; id < 1_000; id += 1) refusals.write(refusal('401 expired', id));
  refusals.write(refusal('403 host', 1_000));
  expect(lines).toHaveLength(MAX_LINES + 1);
  expect(lines.at(-1)).toMatchObject({ request_id: '1000' });
  const summary = { level: 'info', message: 'refusals left out of the log', kind: '401 expired' };
  await expect.poll(() => lines.at(-1)).toMatchObject({ ...summary, count: 1_000 - MAX_LINES });
  expect(lines).toHaveLength(MAX_LINES + 2);
  refusals.write(refusal('401 expired', 1_001));
  expect(lines.at(-1)).toMatchObject({ request_id: '1001' });
});

it('logs every refusal at debug level', () => {
  const { log, lines } = logAt('debug');
  const refusals = new RefusalLog(log, 200);
  for (let id = 0; id < 100; id += 1) refusals.write(refusal('401 expired', id));
  expect(lines).toHaveLength(100);
});
