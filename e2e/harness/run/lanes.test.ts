import { describe, expect, it } from 'vitest';
import { lanesOf } from './lanes.ts';

/** Returns the name and the arguments of each run, by lane. */
const described = (...args: string[]) =>
  lanesOf(args).map((lane) => lane.map(({ name, program, args }) => [name, program, args.join(' ')]));

describe('the lanes of a run', () => {
  it('are one run of vitest without a project, or with one', () => {
    expect(described('gateway')).toEqual([[['all', 'vitest', 'gateway']]]);
    expect(described('--project', 'e2e', 'names')).toEqual([[['e2e', 'vitest', '--project e2e names']]]);
    expect(described('--project', 'cluster')).toEqual([[['cluster', 'vitest', '--project cluster']]]);
  });

  it('run the operator and in the end the cluster beside all other projects', () => {
    const named = ['cluster', 'unit', 'operator', 'e2e'];
    expect(described(...named.flatMap((project) => ['--project', project]))).toEqual([
      [['main', 'vitest', '--project unit --project e2e']],
      [
        ['operator', 'vitest', '--project operator'],
        ['cluster', 'cluster', ''],
      ],
    ]);
  });

  it('have no first lane when only projects that wait are named', () => {
    expect(described('--project', 'cluster', '--project', 'operator')).toEqual([
      [
        ['operator', 'vitest', '--project operator'],
        ['cluster', 'cluster', ''],
      ],
    ]);
  });

  it('pass each filter to every run', () => {
    expect(described('--project', 'unit', '--project', 'operator', 'pods')).toEqual([
      [['main', 'vitest', '--project unit pods']],
      [['operator', 'vitest', '--project operator pods']],
    ]);
  });
});
