import { spawnSync } from 'node:child_process';
import type { Engine } from './load.ts';
import { autocannonEngine } from './autocannon.ts';
import { wrkEngine } from './wrk.ts';

/** Lists the engines that this machine can run, the best first. autocannon is a dev dependency. */
export function engines(): readonly [Engine, ...Engine[]] {
  const hasWrk = spawnSync('wrk', ['-v'], { stdio: 'ignore' }).error === undefined;
  return hasWrk ? [wrkEngine, autocannonEngine] : [autocannonEngine];
}
