/** Setup file of vitest: test files that share a process import other modules once, and this one each. */
import { aroundEach } from 'vitest';
import { runningTest } from '../scope.ts';

aroundEach((runTest, context) => runningTest.run(context, runTest));
