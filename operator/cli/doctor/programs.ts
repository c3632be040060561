import { execFile } from 'node:child_process';
import { findOnPath } from '../../../gateway/workloads/runner/schemes/path.ts';
import { respondingEngine } from '../../local/container-engine.ts';
import type { Programs } from './check.ts';

const TIMEOUT_MS = 15_000;

/** Returns the programs of this machine. */
export const programsOf = (env: Readonly<Record<string, string | undefined>>): Programs => ({
  find: (program) => findOnPath(program, env),
  succeeds: (file, args) =>
    new Promise((done) => {
      execFile(file, args, { timeout: TIMEOUT_MS }, (error) => {
        done(error === null);
      });
    }),
  respondingEngine: () => respondingEngine(env),
});
