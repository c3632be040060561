import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { BoundaryImpossible } from '../../../gateway/incoming/boundary-of.ts';
import { isInCluster } from '../../../gateway/kube/connection.ts';
import { ListenError } from '../../../gateway/listener.ts';
import { startGateway } from '../../../gateway/process/gateway.ts';
import { createCommandLog, type LogFlags } from '../log-flags.ts';
import { untilSignal } from '../signals.ts';
import { errorCode } from '../../../gateway/config-files.ts';
import { unusableFiles } from '../files/unusable-files.ts';
import { createLauncherFor } from './launcher.ts';
import { readConfigWithPolicyFile } from './policy-file.ts';
import { VERSION } from '../version.ts';
import { decodeUtf8 } from '../../../gateway/contract/text/utf8.ts';

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
  if (!config) return 2;
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
    return 0;
  } catch (error) {
    if (!(error instanceof ListenError || error instanceof BoundaryImpossible)) throw error;
    stderr.write(`${error.message}\n`);
    return 2;
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
