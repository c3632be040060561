import { engineEnvironment } from '../environment.ts';
import { containerCommand } from './container-command.ts';
import { proveIsolation } from './isolation-probe.ts';
import { checkMounts } from './mounts.ts';
import { withOverlays } from './overlays/overlays.ts';
import { findOnPath } from './path.ts';
import { ANSWER_TIMEOUT_MS, pullImage } from './pull.ts';
import { LaunchError } from '../runner.ts';
import type { Scheme, Tools } from './scheme.ts';

/** Container engines. The version is read from the engine, since a client without an engine has none. */
export const ENGINES = [
  { name: 'docker', version: '{{.ServerVersion}}' },
  { name: 'podman', version: '{{.Version.Version}}' },
] as const;

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
  async prepare(given, request, tools) {
    checkReference(given.image);
    const process = await withOverlays(checkMounts(given, tools), request.name, tools);
    const engine = await findEngine(request.name, tools);
    await pullImage(engine, process.image, request.name, tools);
    const command = containerCommand(engine, process, request, tools);
    if (command.container?.network) await proveIsolation(engine, process.image, request.name, tools);
    return command;
  },
};

function checkReference(image: string): void {
  if (REFERENCE.test(image)) return;
  const message = `"${image}" is not an image: write an OCI reference, npx://PACKAGE[@VERSION], uvx://PACKAGE[==VERSION] or command://PROGRAM`;
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
