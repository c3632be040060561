import { execFile } from 'node:child_process';
import { ENGINES } from '../../gateway/workloads/runner/schemes/container.ts';
import { findOnPath } from '../../gateway/workloads/runner/schemes/path.ts';

const ANSWER_TIMEOUT_MS = 15_000;

/** Returns true when a container engine responds. An installed client alone is not enough. */
export async function engineAnswers(env: Readonly<Record<string, string | undefined>>): Promise<boolean> {
  for (const { name, version } of ENGINES) {
    const file = findOnPath(name, env);
    if (file !== undefined && /^\d/.test(await outputOf(file, ['info', '--format', version]))) return true;
  }
  return false;
}

const outputOf = (file: string, args: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    execFile(file, args, { timeout: ANSWER_TIMEOUT_MS }, (error, stdout) => {
      resolve(error ? '' : stdout.trim());
    });
  });
