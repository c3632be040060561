import nodeModule from 'node:module';
import { nodeVersionProblem } from './node-version.ts';
import { EXIT } from './exit.ts';

// An older Node.js cannot load the imports of run.ts.
const problem = nodeVersionProblem(process.versions.node);
if (problem === undefined) {
  nodeModule.enableCompileCache();
  await import('./run.ts');
} else {
  process.stderr.write(`vmcp cannot run on this Node.js: ${problem}\n`);
  process.exitCode = EXIT.failed;
}
