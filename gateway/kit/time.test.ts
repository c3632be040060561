import { expect, it } from 'vitest';
import { backoffMs, limited, nextPauseMs, within, withinTime } from './time.ts';

const late = (): Error => new Error('too late');

it('returns the result or the error of a function that ends in time', async () => {
  expect(await withinTime(60_000, async () => 'result', late)).toBe('result');
  await expect(withinTime(60_000, async () => Promise.reject(new Error('failed')), late)).rejects.toThrow('failed');
});

it('rejects, and aborts the signal of a function that hangs', async () => {
  let signal: AbortSignal | undefined;
  const hanging = withinTime(
    5,
    async (given) => {
      signal = given;
      return new Promise<never>(() => undefined);
    },
    late,
  );
  await expect(hanging).rejects.toThrow('too late');
  expect(signal?.aborted).toBe(true);
});

it('returns the result in time, or what stands for it when the time is over or the signal is aborted', async () => {
  const never = new Promise<string>(() => undefined);
  expect(await within(60_000, Promise.resolve('result'), 'late')).toBe('result');
  expect(await within(1, never, 'late')).toBe('late');
  const stop = new AbortController();
  const stopped = within(60_000, never, 'stopped', { signal: stop.signal });
  stop.abort();
  expect(await stopped).toBe('stopped');
  expect(await within(60_000, never, 'stopped', { signal: stop.signal })).toBe('stopped');
});

it('doubles pauses up to the longest', () => {
  expect([0, 1, 2, 3, 4, 5_000].map((failures) => backoffMs(failures, 100, 500))).toEqual([
    100, 100, 200, 400, 500, 500,
  ]);
  expect([nextPauseMs(100, 500), nextPauseMs(400, 500)]).toEqual([200, 500]);
});

it('aborts work after the limit, or with the outer signal', async () => {
  const aborted = (signal: AbortSignal): Promise<unknown> =>
    new Promise((resolve) => {
      if (signal.aborted) resolve(signal.reason);
      signal.addEventListener('abort', () => {
        resolve(signal.reason);
      });
    });
  expect(await limited(1, aborted)).toMatchObject({ name: 'TimeoutError' });
  expect(await limited(60_000, aborted, AbortSignal.abort('left'))).toBe('left');
});
