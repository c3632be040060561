import { expect, it } from 'vitest';
import { Turns } from './turns.ts';

function recorded() {
  const sent: string[] = [];
  const turns = new Turns((bench, signal) => sent.push(`${signal} ${String(bench)}`));
  return { turns, taken: () => sent.splice(0) };
}

it('two benchmarks measure one after the other, and prepare the next slice when both have', () => {
  const { turns, taken } = recorded();
  turns.ready(1);
  expect(taken()).toEqual([]);
  turns.ready(0);
  expect(taken()).toEqual(['go 0']);
  turns.done(0);
  expect(taken()).toEqual(['go 1']);
  turns.done(1);
  expect(taken()).toEqual(['next 0', 'next 1']);
  turns.ready(0);
  turns.ready(1);
  expect(taken()).toEqual(['go 1']);
});

type Event = readonly ['ready' | 'done' | 'left', number];

it.each<[string, readonly Event[], readonly string[]]>([
  [
    'before the other is ready',
    [
      ['left', 0],
      ['ready', 1],
    ],
    ['go 1'],
  ],
  [
    'while the other is ready',
    [
      ['ready', 1],
      ['left', 0],
    ],
    ['go 1'],
  ],
  [
    'while it measures',
    [
      ['ready', 0],
      ['ready', 1],
      ['left', 0],
    ],
    ['go 0', 'go 1'],
  ],
  [
    'while the other rests',
    [
      ['ready', 1],
      ['ready', 0],
      ['done', 0],
      ['left', 1],
    ],
    ['go 0', 'go 1', 'next 0'],
  ],
])('a benchmark goes on alone when the other ends %s', (_when, events, expected) => {
  const { turns, taken } = recorded();
  for (const [event, bench] of events) turns[event](bench);
  expect(taken()).toEqual(expected);
});
