import { createHash } from 'node:crypto';
import type { BackendProcess } from '../../../contract/gateway-config.ts';
import { engineEnvironment, withListenVariables } from '../environment.ts';
import { reportProgress } from './install-progress.ts';
import { findOnPath } from './path.ts';
import { LaunchError, type Command } from '../runner.ts';
import type { PrepareRequest, Scheme, Tools } from './scheme.ts';

/** Container engines. The version is read from the engine, since a client without an engine has none. */
export const ENGINES = [
  { name: 'docker', version: '{{.ServerVersion}}' },
  { name: 'podman', version: '{{.Version.Version}}' },
] as const;

const DEFAULT_TARGET_PORT = 8080;
const ANSWER_TIMEOUT_MS = 15_000;
const PULL_TIMEOUT_MS = 600_000;

const LABEL = String.raw`[A-Za-z0-9][A-Za-z0-9-]*`;
const HOST = String.raw`(?:${LABEL}(?:\.${LABEL})*|\[[0-9a-fA-F:]+\])(?::\d+)?`;
const COMPONENT = String.raw`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`;
const REFERENCE = new RegExp(
  String.raw`^(?:${HOST}/)?${COMPONENT}(?:/${COMPONENT})*(?::[A-Za-z0-9_][\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`,
);

/** OCI images, run by docker or podman. Labels `dev.vmcp.workload` and `dev.vmcp.state` identify the owner. */
export const container: Scheme = {
  prefix: '',
  check: checkReference,
  async prepare(process, request, tools) {
    checkReference(process.image);
    const engine = await findEngine(request.name, tools);
    await pull(engine, process.image, request.name, tools);
    return runCommand(engine, process, request, tools);
  },
};

function checkReference(image: string): void {
  if (REFERENCE.test(image)) return;
  const message = `"${image}" is not an image: write an OCI reference, npx://PACKAGE[@VERSION] or uvx://PACKAGE[==VERSION]`;
  throw new LaunchError('InvalidImageReference', message);
}

async function findEngine(workload: string, tools: Tools): Promise<string> {
  const env = engineEnvironment(tools.hostEnv);
  for (const { name, version } of ENGINES) {
    const file = findOnPath(name, tools.hostEnv);
    if (file === undefined) continue;
    const answer = await tools.run({ file, args: ['info', '--format', version], env }, workload, ANSWER_TIMEOUT_MS);
    if (answer.code === 0 && /^\d/.test(answer.stdout.trim())) return file;
  }
  const message = 'neither docker nor podman responds: start one of them, or use an npx:// or uvx:// reference';
  throw new LaunchError('NoContainerEngine', message);
}

async function pull(file: string, image: string, workload: string, tools: Tools): Promise<void> {
  const env = engineEnvironment(tools.hostEnv);
  const present = await tools.run({ file, args: ['image', 'inspect', '--', image], env }, workload, ANSWER_TIMEOUT_MS);
  if (present.code === 0) return;
  tools.log.info('pulling image', { workload, image });
  const pulled = await reportProgress({ facts: { workload, image }, log: tools.log }, () =>
    tools.run({ file, args: ['pull', '--quiet', '--', image], env }, workload, PULL_TIMEOUT_MS),
  );
  if (pulled.code === 0) return;
  tools.log.warn('image not pulled', { workload, image, output: pulled.stderr });
  const reason = pulled.stderr.trim().split('\n').at(-1) ?? '';
  throw new LaunchError(
    'ImagePullFailed',
    `${image} cannot be pulled (${reason}): check its name and your access to it`,
  );
}

function runCommand(file: string, spec: BackendProcess, request: PrepareRequest, tools: Tools): Command {
  const targetPort = spec.target_port ?? DEFAULT_TARGET_PORT;
  const listen = request.port === undefined ? undefined : { host: '0.0.0.0', port: targetPort };
  const state = createHash('sha256').update(tools.stateDir).digest('hex').slice(0, 16);
  const reach = request.port === undefined ? ['-i'] : ['-p', `127.0.0.1:${request.port}:${targetPort}`];
  return {
    file,
    args: [
      ...['run', '--rm', '--pull', 'never', ...reach],
      ...['--label', `dev.vmcp.workload=${request.name}`, '--label', `dev.vmcp.state=${state}`],
      '--',
      spec.image,
      ...(spec.args ?? []),
    ],
    env: withListenVariables(spec.env_vars ?? {}, listen, request.transport),
    envFiles: spec.env_var_files ?? {},
    container: { clientEnv: engineEnvironment(tools.hostEnv) },
  };
}
