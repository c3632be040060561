import { execFile } from 'node:child_process';
import { ENGINES } from '../../gateway/workloads/runner/schemes/container.ts';
import { findOnPath } from '../../gateway/workloads/runner/schemes/path.ts';

const ANSWER_TIMEOUT_MS = 15_000;

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns true when a container engine responds. */
export const engineAnswers = async (env: Environment): Promise<boolean> => (await respondingEngine(env)) !== undefined;

/** Returns the name of the container engine that vmcp uses: the first that responds. An installed client alone is not enough. */
export async function respondingEngine(env: Environment): Promise<string | undefined> {
  for (const { name, version } of ENGINES) {
    const file = findOnPath(name, env);
    if (file !== undefined && /^\d/.test(await outputOf(file, ['info', '--format', version]))) return name;
  }
  return undefined;
}

const outputOf = (file: string, args: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    execFile(file, args, { timeout: ANSWER_TIMEOUT_MS }, (error, stdout) => {
      resolve(error ? '' : stdout.trim());
    });
  });
