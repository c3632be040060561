import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { examineForCluster } from '../../operator/cli/validate/examine-cluster.ts';
import { root } from '../harness/vmcp.ts';

/** Words of the table for what a cluster rejects, by the reason and a part of the path. */
const ON_A_LAPTOP: readonly (readonly [words: string, reason: RegExp, path: RegExp])[] = [
  ['packages', /^LocalImageInCluster$/u, /image$/u],
  ['addresses of this machine', /^LoopbackAddress$/u, /(Url|URL|issuer|[eE]ndpoint|url)$/u],
  ['variables of the shell', /^RuleViolated$/u, /fromEnv$/u],
  ['isolation', /^IsolationNotAvailable$/u, /isolation$/u],
];

const examples = [
  ...new Set(globSync('*/*.yaml', { cwd: join(root, 'examples') }).map((file) => file.split('/')[0] ?? '')),
];
const table = readFileSync(join(root, 'examples', 'README.md'), 'utf8');

/** Returns the last cell of an example in the table of the README. */
const cellOf = (example: string): string | undefined =>
  table
    .split('\n')
    .find((line) => line.startsWith(`| [${example}](`))
    ?.split('|')
    .at(-2)
    ?.trim();

describe('the table of examples says what runs in a cluster', () => {
  it.each(examples)('%s', async (example) => {
    const { problems } = await examineForCluster([join(root, 'examples', example)]);
    const words = problems.map(
      ({ reason, path }) => ON_A_LAPTOP.find(([, each, where]) => each.test(reason) && where.test(path))?.[0] ?? reason,
    );
    const found = ON_A_LAPTOP.map(([each]) => each).filter((each) => words.includes(each));
    expect(words.filter((each) => !found.includes(each))).toEqual([]);
    expect(cellOf(example)).toBe(found.length === 0 ? 'yes' : `no: ${found.join(', ')}`);
  });

  it('has examples of both', () => {
    expect(examples.filter((example) => cellOf(example) === 'yes').length).toBeGreaterThanOrEqual(6);
    expect(examples.length).toBeGreaterThan(40);
  });
});
