import { satisfies } from 'semver';
import { fail, ok, type Check } from '../check.ts';

/** `engines.node` of package.json. */
const NEEDED = '>=22.15';

export const nodeVersion: Check = {
  name: 'Node.js',
  run: ({ nodeVersion: version }) =>
    satisfies(version, NEEDED)
      ? ok(version)
      : fail(`${version} is too old: install version 22.15 or later from https://nodejs.org`),
};
