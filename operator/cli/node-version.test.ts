import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { nodeVersionProblem } from './node-version.ts';
import { PROJECT_ROOT } from './version.ts';

const { engines } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as {
  engines: { node: string };
};

describe('nodeVersionProblem', () => {
  it('accepts the oldest version of package.json and later ones', () => {
    const [, oldest = ''] = engines.node.split('>=');
    for (const version of [`${oldest}.0`, '22.22.1', '24.0.0', '100.1.0', '25.0.0-nightly'])
      expect([version, nodeVersionProblem(version)]).toEqual([version, undefined]);
  });

  it.each(['22.14.0', '20.20.2', '9.22.0'])('rejects %s', (version) => {
    expect(nodeVersionProblem(version)).toBe(
      `${version} is too old: install version 22.15 or later from https://nodejs.org`,
    );
  });
});
