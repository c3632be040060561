import { expect, it } from 'vitest';
import { Flights, SerialQueue, SerialQueues, SingleFlight } from './tasks.ts';

it('shares one run, and starts another after its end', async () => {
  const flight = new SingleFlight<number>();
  let runs = 0;
  const task = async (): Promise<number> => (runs += 1);
  expect(await Promise.all([flight.run(task), flight.run(task)])).toEqual([1, 1]);
  expect(flight.running).toBeUndefined();
  await expect(flight.run(async () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await flight.run(task)).toBe(2);
});

it('shares the runs of a key, until the key is forgotten', async () => {
  const flights = new Flights<string, number>();
  const { promise, resolve } = Promise.withResolvers<number>();
  const first = flights.run('a', () => promise);
  expect(flights.run('a', async () => 2)).toBe(first);
  flights.forget('a');
  const later = Promise.withResolvers<number>();
  const second = flights.run('a', () => later.promise);
  resolve(1);
  expect([await first, flights.size]).toEqual([1, 1]); // the end of the first run leaves the second
  later.resolve(3);
  expect([await second, flights.size]).toEqual([3, 0]);
});

it('runs tasks in order, and goes on after a failure', async () => {
  const queue = new SerialQueue();
  const seen: number[] = [];
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const failing = queue.run(async () => {
    await promise;
    seen.push(1);
    throw new Error('failed');
  });
  const next = queue.run(() => seen.push(2));
  resolve(undefined);
  await expect(failing).rejects.toThrow('failed');
  await queue.ended();
  expect([await next, seen]).toEqual([2, [1, 2]]);
});

it('runs the tasks of other names beside each other', async () => {
  const queues = new SerialQueues();
  const { promise, resolve } = Promise.withResolvers<string>();
  const [first, second] = [queues.run('a', () => promise), queues.run('a', async () => 'second')];
  expect(await queues.run('b', async () => 'other')).toBe('other');
  resolve('first');
  expect(await Promise.all([first, second])).toEqual(['first', 'second']);
});
