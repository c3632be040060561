import { describe, expect, it } from 'vitest';
import { parseOptions, UsageError } from './options.ts';

const IDS = ['W1', 'W4'];

describe('parseOptions', () => {
  it('measures everything seven times for four seconds by default', () => {
    expect(parseOptions([], IDS)).toEqual({
      rounds: 7,
      seconds: 4,
      connections: [1, 32, 256],
      only: undefined,
      targets: ['gateway', 'bare-proxy'],
      json: '.cache/bench.json',
    });
  });

  it('accepts workloads in upper and lower case', () => {
    expect(parseOptions(['--only', 'w1,W4'], IDS).only).toEqual(['W1', 'W4']);
  });

  it.each([
    [['--only', 'W9'], 'W9'],
    [['--rounds', '0'], '--rounds'],
    [['--rounds', '1.5'], '--rounds'],
    [['--seconds', 'x'], '--seconds'],
    [['--connections', '1,-2'], '--connections'],
    [['--targets', 'nginx'], 'nginx'],
    [['--targets', ''], '--targets'],
    [['--colour'], '--colour'],
  ])('rejects %j and names the mistake', (argv, named) => {
    expect(() => parseOptions(argv, IDS)).toThrow(UsageError);
    expect(() => parseOptions(argv, IDS)).toThrow(named);
  });
});
