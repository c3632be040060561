import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import { isInCluster } from '../../gateway/kube/connection.ts';
import { startGateway } from '../../gateway/process/gateway.ts';
import { createCommandLog, type LogFlags } from './flags.ts';
import { untilSignal } from './process.ts';
import { errorCode } from '../../gateway/config-files.ts';
import { unusableFiles, unreachableFiles } from './unusable-files.ts';
import { VERSION, PROJECT_ROOT } from './version.ts';
import { decodeUtf8 } from '../../gateway/contract/text/utf8.ts';
import type { Logger } from '../../gateway/contract/logger.ts';
import type { Launcher } from '../../gateway/workloads/runner/runner.ts';
import { isObject, parseObject, textsIn } from '../../gateway/contract/json.ts';
import { MOUNTED_FOLDERS, isBelow, notMounted, PATH_NOT_MOUNTED } from '../../gateway/contract/gateway-config-files.ts';
import type { Problem } from '../../gateway/contract/problem.ts';
import { inPolicyFile, POLICY_PATH, policyFileConflicts } from '../../gateway/contract/run-config/policy-file.ts';
import { withPolicyFile } from '../../gateway/config-files.ts';
import { readGatewayConfig } from '../../gateway/read-gateway-config.ts';
import { EXIT, endWith } from './exit.ts';

/** Time after the signal in which a Service can still route connections to this pod, in addition to `preStop`. */
const ROUTES_MS = 2_000;

export interface GatewayOptions extends LogFlags {
  readonly config: string;
  readonly host: string;
  readonly port: number;
  readonly managementHost: string;
  readonly managementPort: number;
  readonly state?: string;
}

/** `vmcp gateway`: runs until a signal. Exit codes: 0 stopped, 1 run-time failure, 2 wrong configuration. */
export async function gateway(options: GatewayOptions): Promise<number> {
  const { stderr } = process;
  const config = await readConfig(resolve(options.config), stderr);
  if (!config) return EXIT.invalid;
  const configured = config.vmcp.operational.log_level ?? (config.debug === true ? 'debug' : 'info');
  const log = createCommandLog(stderr, options, configured);
  const launcher = await createLauncherFor(config, options.state, log);
  const signalled = untilSignal(stderr);
  try {
    const running = await startGateway({
      servers: [{ config, host: options.host, port: options.port }],
      management: { host: options.managementHost, port: options.managementPort },
      log,
      version: VERSION,
      launcher,
      cluster: { unusableFiles },
      routesMs: isInCluster(process.env) ? ROUTES_MS : 0,
    });
    const [server] = running.servers;
    log.info('gateway listens', {
      address: server?.address,
      url: server?.mcpUrl,
      management: running.managementUrl,
    });
    await signalled;
    await running.stop();
    log.info('gateway stopped');
    return EXIT.done;
  } catch (error) {
    return endWith(error, stderr);
  } finally {
    await launcher?.close();
  }
}

/** Reads a valid configuration with usable files. Otherwise prints the problems and returns undefined. */
async function readConfig(file: string, stderr: NodeJS.WritableStream): Promise<GatewayConfig | undefined> {
  const bytes = await readFile(file).catch((error: unknown) => {
    stderr.write(`${file}: cannot be read (${errorCode(error)}): correct --config\n`);
    return undefined;
  });
  if (bytes === undefined) return undefined;
  const text = decodeUtf8(bytes);
  if (text === undefined) {
    stderr.write(`${file}: is not UTF-8: save it in that encoding\n`);
    return undefined;
  }
  const read = await readConfigWithPolicyFile(text);
  const problems = 'problems' in read ? read.problems : await unusableFiles(read.config);
  for (const { path, message, reason } of problems) stderr.write(`${file}: ${path}: ${message} [${reason}]\n`);
  return 'problems' in read || problems.length > 0 ? undefined : read.config;
}

/** Creates a launcher and its state folder if a backend of the configuration is a process. */
export async function createLauncherFor(
  config: GatewayConfig,
  state: string | undefined,
  log: Logger,
): Promise<Launcher | undefined> {
  if (!config.vmcp.backends.some(({ process: child }) => child !== undefined)) return undefined;
  const { createLauncher } = await import('../../gateway/workloads/runner/launcher.ts');
  const { reapOrphans } = await import('../../gateway/workloads/runner/process/reaper.ts');
  const { defaultStateDir } = await import('../local/state.ts');
  const stateDir = state ?? defaultStateDir(process.env);
  await reapOrphans({ stateDir, hostEnv: process.env });
  return createLauncher({ stateDir, projectRoot: PROJECT_ROOT, hostEnv: process.env, log });
}

type Read = { readonly config: GatewayConfig } | { readonly problems: readonly Problem[] };

/**
 * Reads a configuration like `readGatewayConfig`. The document in the file of `authz_config_path`, JSON or YAML, becomes
 * `authz_config`. A gateway in a pod reads the file in the mounted folders only.
 */
export async function readConfigWithPolicyFile(text: string): Promise<Read> {
  const json = parseObject(text) ?? {};
  const file = json[POLICY_PATH];
  if (typeof file !== 'string') return readGatewayConfig(text);
  const conflicts = policyFileConflicts(json);
  if (conflicts.length > 0) return { problems: conflicts };
  const folders = foldersOf(json['vmcp']);
  if (folders) {
    if (!isBelow(file, folders))
      return { problems: [{ reason: PATH_NOT_MOUNTED, path: POLICY_PATH, message: notMounted(file, folders) }] };
    const unreachable = await unreachableFiles([{ path: POLICY_PATH, file }], folders);
    if (unreachable.length > 0) return { problems: unreachable };
  }
  const whole = await withPolicyFile(json, file);
  if ('problems' in whole) return whole;
  const read = readGatewayConfig(JSON.stringify(whole.json));
  return 'problems' in read ? { problems: read.problems.map((each) => inPolicyFile(each, file)) } : read;
}

/** Returns the folders that a gateway in a pod may read; undefined outside of a pod. */
function foldersOf(vmcp: unknown): readonly string[] | undefined {
  const cluster = isObject(vmcp) ? vmcp['cluster'] : undefined;
  if (!isObject(cluster)) return undefined;
  const { mounted_folders: folders } = cluster;
  return textsIn(folders) ?? MOUNTED_FOLDERS;
}
