import { nodeVersionProblem } from '../../node-version.ts';
import { fail, ok, type Check } from '../check.ts';

export const nodeVersion: Check = {
  name: 'Node.js',
  run({ nodeVersion: version }) {
    const problem = nodeVersionProblem(version);
    return problem === undefined ? ok(version) : fail(problem);
  },
};
