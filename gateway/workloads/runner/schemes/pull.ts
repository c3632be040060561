import { engineEnvironment } from '../environment.ts';
import { engineStopped, isEngineOutage } from '../engine-outage.ts';
import { LaunchError } from '../runner.ts';
import { reportProgress } from './install-progress.ts';
import type { RunResult, Tools } from './scheme.ts';

export const ANSWER_TIMEOUT_MS = 15_000;
const PULL_TIMEOUT_MS = 600_000;

/** Answers of registries about an image that does not exist, or that is hidden from users without a login. */
const NOT_FOUND = [
  /manifest unknown|name unknown|MANIFEST_UNKNOWN|NAME_UNKNOWN/u,
  /manifest for \S+ not found|repository \S+ not found|repository does not exist/u,
  /no such manifest|: not found$/mu,
  /requested access to the resource is denied/u,
];

/** Returns true for the line of podman about a manifest that the registry does not have. */
const isMissingManifest = (line: string): boolean =>
  line.includes('reading manifest ') && /StatusCode: 404|404 \(Not Found\)/u.test(line);

/** Pulls an image that is not present. @throws LaunchError `ImageNotFound` or `ImagePullFailed` */
export async function pullImage(file: string, image: string, workload: string, tools: Tools): Promise<void> {
  const env = engineEnvironment(tools.hostEnv);
  const present = await tools.run({ file, args: ['image', 'inspect', '--', image], env }, workload, ANSWER_TIMEOUT_MS);
  if (present.code === 0) return;
  const { log, display } = tools;
  if (!display) log.info('pulling image', { workload, image });
  const pulled = await reportProgress({ facts: { workload, image }, log, display }, () =>
    tools.run({ file, args: ['pull', '--quiet', '--', image], env }, workload, PULL_TIMEOUT_MS),
  );
  if (pulled.code === 0) return;
  tools.log.warn('image not pulled', { workload, image, output: pulled.stderr });
  throw pullError(image, pulled);
}

/** Returns the error of a failed pull. Pure. */
export function pullError(image: string, { code, stderr }: Pick<RunResult, 'code' | 'stderr'>): LaunchError {
  if (code === null) {
    const minutes = PULL_TIMEOUT_MS / 60_000;
    return new LaunchError('ImagePullFailed', `${image} was not pulled within ${minutes} minutes: pull it by hand`);
  }
  if (NOT_FOUND.some((pattern) => pattern.test(stderr)) || stderr.split('\n').some(isMissingManifest)) {
    const message = `${image} does not exist, or needs a login at its registry: check its name and tag`;
    return new LaunchError('ImageNotFound', message);
  }
  if (isEngineOutage(stderr)) return engineStopped();
  const reason = stderr.trim().split('\n').at(-1) ?? '';
  return new LaunchError(
    'ImagePullFailed',
    `${image} cannot be pulled (${reason}): check its name and your access to it`,
  );
}
