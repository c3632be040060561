import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { boundaryOf, BoundaryImpossible } from '../../../gateway/incoming/boundary-of.ts';
import { ListenError } from '../../../gateway/listener.ts';
import { createLauncher } from '../../../gateway/workloads/runner/launcher.ts';
import { reapOrphans } from '../../../gateway/workloads/runner/process/reaper.ts';
import { apiServerOf } from '../../../gateway/kube/api-server.ts';
import { startGateway, type ManagedCluster } from '../../../gateway/process/gateway.ts';
import type { RootLog } from '../../../gateway/telemetry/log.ts';
import { defaultStateDir, openState, StateInUse, StateNotUsable } from '../../local/state.ts';
import { defaultConnection } from '../../source/kube/kube-config.ts';
import { userFolders } from '../../local/user-folders.ts';
import { loginBrowser } from '../client/browser.ts';
import { errorCode } from '../../../gateway/config-files.ts';
import type { OriginFlags } from '../origin-flags.ts';
import { createCommandLog, type LogFlags } from '../log-flags.ts';
import { untilSignal } from '../signals.ts';
import { PROJECT_ROOT, VERSION } from '../version.ts';
import { readServeConfig, type ServeConfig } from './serve-config.ts';
import { decodeUtf8 } from '../../../gateway/contract/text/utf8.ts';

export interface ServeFlags extends LogFlags, OriginFlags {
  readonly config?: string;
  readonly host: string;
  readonly port: number;
  readonly state?: string;
}

const EXIT_INVALID = 2;

/** `vmcp serve`: runs until a signal. Exit codes: 0 stopped, 2 wrong configuration. */
export async function serve(flags: ServeFlags): Promise<number> {
  const { stderr } = process;
  const config = await readConfig(flags.config, stderr);
  if (!config) return EXIT_INVALID;
  try {
    return await run(flags, config, createCommandLog(stderr, flags, 'info'));
  } catch (error) {
    const isKnown = [StateInUse, StateNotUsable, ListenError, BoundaryImpossible].some((kind) => error instanceof kind);
    if (!isKnown) throw error;
    stderr.write(`${(error as Error).message}\n`);
    return EXIT_INVALID;
  }
}

async function run(flags: ServeFlags, { protectedBy, audit, cluster }: ServeConfig, log: RootLog): Promise<number> {
  const { host, port } = flags;
  const state = openState(resolve(flags.state ?? defaultStateDir(process.env)));
  const signalled = untilSignal(process.stderr);
  await reapOrphans({ stateDir: state.dir, hostEnv: process.env });
  const launcher = createLauncher({ stateDir: state.dir, projectRoot: PROJECT_ROOT, hostEnv: process.env, log });
  try {
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
    const apiServer = apiServerOf(process.env);
    const boundary = protectedBy && boundaryOf(protectedBy, url, { log, now: Date.now, exposed: true, apiServer });
    const folders = userFolders(process.env, process.platform);
    const managed = cluster && (await connectTo(cluster.namespaces));
    const openBrowser = loginBrowser(process.stderr, process.env);
    const api = { stateDir: state.dir, folders, launcher, cluster: managed, openBrowser };
    const gateway = await startGateway({
      servers: [],
      management: { host, port, api, boundary, audit, allowedOrigins: flags.allowApiOrigin },
      allowedOrigins: flags.allowOrigin,
      log,
      version: VERSION,
      launcher,
    });
    process.stdout.write(`The management API listens at ${gateway.managementUrl}/api/v1beta\n`);
    process.stdout.write(`Its description:  ${gateway.managementUrl}/api/openapi.json\nStop with Ctrl-C.\n`);
    await signalled;
    await gateway.stop();
    boundary?.close();
    return 0;
  } finally {
    await launcher.close();
    state.close();
  }
}

/** Connects to the cluster of the pod or of the kubeconfig. Throws `BoundaryImpossible` without one. */
async function connectTo(namespaces: readonly string[]): Promise<ManagedCluster> {
  const connection = await defaultConnection(process.env, Date.now).catch((error: unknown) => {
    throw new BoundaryImpossible(error);
  });
  const [first = connection.namespace, ...others] = namespaces;
  return { connection, namespaces: [first, ...others] };
}

/** Reads a valid configuration. Otherwise prints the problems and returns undefined. */
async function readConfig(path: string | undefined, stderr: NodeJS.WritableStream): Promise<ServeConfig | undefined> {
  if (path === undefined) return { protectedBy: undefined };
  const bytes = await readFile(resolve(path)).catch((error: unknown) => {
    stderr.write(`${path}: cannot be read (${errorCode(error)}): correct --config\n`);
    return undefined;
  });
  if (bytes === undefined) return undefined;
  const text = decodeUtf8(bytes);
  if (text === undefined) {
    stderr.write(`${path}: is not UTF-8: save it in that encoding\n`);
    return undefined;
  }
  const read = readServeConfig(text);
  if (!('problems' in read)) return read;
  for (const { path: at, message, reason } of read.problems) stderr.write(`${path}: ${at}: ${message} [${reason}]\n`);
  return undefined;
}
