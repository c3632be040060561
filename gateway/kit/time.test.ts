import { expect, it } from 'vitest';
import { withinTime } from './time.ts';

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
