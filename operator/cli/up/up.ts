import { resolve } from 'node:path';
import { ListenError } from '../../../gateway/listener.ts';
import { startGateway, type Gateway, type ServerSpec } from '../../../gateway/process/gateway.ts';
import { createLauncher } from '../../../gateway/workloads/runner/launcher.ts';
import { hostFault, isPortFree, openPortBook } from '../../../gateway/workloads/runner/ports.ts';
import { identityOf } from '../../../gateway/workloads/runner/process/process-lock.ts';
import { reapOrphans } from '../../../gateway/workloads/runner/process/reaper.ts';
import type { RootLog } from '../../../gateway/telemetry/log.ts';
import type { Launcher } from '../../../gateway/workloads/runner/runner.ts';
import { createHttpWorkloads, type HttpWorkloads } from '../../local/http-workloads.ts';
import type { Mount } from '../../resolve/scope.ts';
import { chooseManagementPort, choosePublicPorts, PortInUse } from '../../local/ports.ts';
import { removeRunning, writeRunning, defaultStateDir, openState, type State, userFolders } from '../../local/state.ts';
import { pruneMounts, writeMounts } from '../../local/secrets.ts';
import { STDIN } from '../../source/files/find-files.ts';
import { DOCUMENT, FILE, type LocatedProblem } from '../../source/files/located.ts';
import { engineAnswers } from '../../local/container-engine.ts';
import { examine, type Examination } from '../validate/examine.ts';
import {
  describeChanges,
  hasSameServers,
  leftOutLines,
  leftOutProblems,
  fileGroups,
  fileWorkloads,
  planServers,
  serverKey,
  type Plan,
  type RunnableServer,
} from './running-servers.ts';
import { endpointTable, startSummary, issuerPortLines, redirectUriLines } from './endpoints.ts';
import { openInstallDisplay } from './install-display.ts';
import { formatProblem, formatProblems, summarize } from '../validate/problems-output.ts';
import { ownCommandLine } from '../own-command.ts';
import { type OriginFlags, createCommandLog, lowestLevel, type LogFlags } from '../flags.ts';
import { untilSignal } from '../process.ts';
import { PROJECT_ROOT, VERSION } from '../version.ts';
import { watchPaths, type PathsWatcher } from './watch-paths.ts';
import { EXIT, endWith } from '../exit.ts';

export interface UpOptions extends LogFlags, OriginFlags {
  readonly host: string;
  readonly port: number;
  readonly portIsExplicit: boolean;
  readonly managementPort: number;
  readonly managementPortIsExplicit: boolean;
  readonly state?: string;
  readonly secretsDir?: string;
  /** Start nothing if there is any problem. */
  readonly strict: boolean;
  readonly watch: boolean;
}

/** `vmcp up`: runs until a signal. Exit codes: 0 stopped, 1 run-time failure, 2 nothing that can run, or no port. */
export async function up(paths: readonly string[], options: UpOptions): Promise<number> {
  const stateDir = resolve(options.state ?? defaultStateDir(process.env));
  const fault = await hostFault(options.host);
  if (fault !== undefined) {
    process.stderr.write(`--host ${options.host} cannot be used (${fault}): use an address of this machine\n`);
    return EXIT.invalid;
  }
  if (options.watch && paths.includes(STDIN)) {
    process.stderr.write('--watch cannot follow standard input: name a file or a folder\n');
    return EXIT.invalid;
  }
  const printed = new Set<string>();
  const first = await readFiles(paths, options, stateDir, printed);
  if (!first) {
    process.stderr.write('nothing was started\n');
    return EXIT.invalid;
  }
  let state: State | undefined;
  try {
    state = openState(stateDir);
    return await run(paths, options, state, { first, printed });
  } catch (error) {
    return endWith(error, process.stderr);
  } finally {
    state?.close();
  }
}

/**
 * Reads the files and prints problems and warnings. Returns undefined when nothing can run, when a file is unreadable
 * (its contents may change what should run), and with `--strict` for any problem. `printed` holds the warnings of the last read: a
 * reload does not repeat them.
 */
async function readFiles(
  paths: readonly string[],
  options: UpOptions,
  stateDir: string,
  printed: Set<string>,
): Promise<Examination | undefined> {
  const { stderr } = process;
  const seen = await examine(
    paths,
    {
      ...(options.secretsDir !== undefined && { secretsDir: options.secretsDir }),
      hostEnv: process.env,
      engineAnswers: () => engineAnswers(process.env),
      needsFiles: true,
    },
    stateDir,
  );
  const warnings = seen.warnings.map((warning) => ({ warning, line: formatProblem(warning, 'warning') }));
  const fresh = warnings.filter(({ line }) => !printed.has(line)).map(({ warning }) => warning);
  stderr.write(formatProblems(seen.problems, fresh));
  printed.clear();
  for (const { line } of warnings) printed.add(line);
  if (canStart(seen, options.strict)) return seen;
  const nothing =
    seen.servers.length === 0 && seen.problems.length === 0
      ? 'these paths contain no VirtualMCPServer: add one, as in examples/quickstart'
      : '';
  stderr.write(`${nothing || summarize(seen.problems, seen.warnings)}\n`);
  return undefined;
}

function canStart({ servers, manifests, problems }: Examination, strict: boolean): boolean {
  if (strict && problems.length > 0) return false;
  return servers.some(({ config }) => config !== undefined) && !manifests.problems.some(stopsEverything);
}

/** Returns true for an unreadable file and for duplicate objects, of which either could be the intended one. */
const stopsEverything = ({ kind, reason }: LocatedProblem): boolean =>
  kind === FILE || kind === DOCUMENT || reason === 'DuplicateObject';

async function run(
  paths: readonly string[],
  options: UpOptions,
  state: State,
  { first, printed }: { readonly first: Examination; readonly printed: Set<string> },
): Promise<number> {
  const { stdout, stderr } = process;
  const levels = first.servers.map(({ config }) => config?.vmcp.operational.log_level);
  const log = createCommandLog(stderr, options, lowestLevel(levels));
  await reapOrphans({ stateDir: state.dir, hostEnv: process.env });
  const display = options.logFormat === 'json' ? undefined : openInstallDisplay([stderr, stdout], process.env);
  const { env: hostEnv } = process;
  const launcher = createLauncher({ stateDir: state.dir, projectRoot: PROJECT_ROOT, hostEnv, log, display });
  const ports = openPortBook(state.workloadPortsFile);
  const workloads = createHttpWorkloads({ launcher, ports, log, now: () => performance.now() });
  const signalled = untilSignal(stderr);
  let watcher: PathsWatcher | undefined;
  try {
    const plan = planServers(first, []);
    const { manifests } = first;
    const site: Site = { paths, options, state, workloads, printed, running: plan.servers, manifests };
    stderr.write(leftOutLines(plan.servers));
    const specs = await place(plan, site, []);
    const gateway = await startSite(site, specs, { log, launcher });
    await pruneMounts(mountsOf(plan.servers), state.dir);
    if (options.watch) {
      // first, so that no change is missed while the backends are prepared
      const secrets = options.secretsDir === undefined ? [] : [options.secretsDir];
      watcher = watchPaths([...paths, ...secrets], () => reload(site, gateway));
    }
    prepareBackends(gateway, specs, launcher);
    await record(gateway, site);
    stdout.write(tableOf(gateway, options));
    const announcement = announceStart(gateway, log, options);
    await signalled;
    clearInterval(announcement);
    await watcher?.close();
    await gateway.stop();
    return EXIT.done;
  } finally {
    removeRunning(state.dir);
    await workloads.close();
    await launcher.close();
    display?.close();
  }
}

/** Interval at which the progress of the start is read. */
const START_POLL_MS = 250;

/** Prints the numbers of servers and tools once every server has started or failed: a sentence on a terminal, else a line of the log. */
function announceStart(gateway: Gateway, log: Pick<RootLog, 'info'>, options: UpOptions): NodeJS.Timeout {
  const { stdout, stderr } = process;
  const isText = stdout.isTTY && stderr.isTTY && options.logFormat !== 'json';
  const timer = setInterval(() => {
    const { pending, ...progress } = gateway.startProgress();
    if (pending > 0) return;
    clearInterval(timer);
    if (progress.servers === 0) return;
    const seconds = Math.round(performance.now() / 1_000); // since the start of the process
    if (isText) stdout.write(`\n${startSummary(progress, seconds, commandLineOf(options))}\n\n`);
    else log.info('servers have started', { ...progress, seconds });
  }, START_POLL_MS).unref();
  return timer;
}

/** Starts the gateway of a site on the first free management port. */
async function startSite(
  site: Site,
  servers: readonly ServerSpec[],
  { log, launcher }: { readonly log: RootLog; readonly launcher: Launcher },
): Promise<Gateway> {
  const { options, state, workloads } = site;
  const isFree = (port: number): Promise<boolean> => isPortFree(port, options.host);
  const { managementPort: wanted, managementPortIsExplicit: isExplicit } = options;
  const port = await chooseManagementPort(
    wanted,
    isExplicit,
    servers.map((server) => server.port),
    isFree,
  );
  const since = new Date().toISOString();
  return startGateway({
    servers,
    allowedOrigins: options.allowOrigin,
    management: {
      ...{ host: '127.0.0.1', port, allowedOrigins: options.allowApiOrigin },
      api: {
        ...{ stateDir: state.dir, folders: userFolders(process.env, process.platform), launcher },
        fromFiles: (statusOf) => fileWorkloads(site.running, site.manifests, { statusOf, since }),
        fileGroups: () => fileGroups(site.running, site.manifests),
      },
    },
    ...{ log, version: VERSION, program: ownCommandLine(), launcher },
    launchState: (namespace, name) => workloads.launchState(namespace, name),
    leftOut: (namespace, name) => leftOutProblems(site.running, namespace, name),
  });
}

/** Renders the endpoints, and commands that find this process by its state folder. */
const tableOf = (gateway: Gateway, options: UpOptions): string => endpointTable(gateway, commandLineOf(options));

const commandLineOf =
  ({ state }: UpOptions) =>
  (...args: readonly string[]): string =>
    ownCommandLine(...args, ...(state === undefined ? [] : ['--state', resolve(state)]));

/** Records the URLs for other commands, such as `vmcp connect`. */
const record = ({ managementUrl, servers }: Gateway, { paths, options, state: { dir } }: Site): Promise<void> =>
  writeRunning(dir, {
    ...identityOf(process.pid),
    managementUrl,
    ...(options.watch && { watched: paths.map((path) => resolve(path)) }),
    servers: servers.map(({ name, namespace, mcpUrl, issuer }) => ({ name, namespace, mcpUrl, issuer })),
  });

const mountsOf = (servers: readonly RunnableServer[]): Mount[] => servers.flatMap(({ mounts }) => mounts);

/** Installs the packages of stdio backends before their first use, then probes them. */
function prepareBackends(gateway: Gateway, specs: readonly ServerSpec[], launcher: Launcher): void {
  for (const { name, process: child, transport } of specs.flatMap(({ config }) => config.vmcp.backends)) {
    if (!child || transport !== 'stdio') continue;
    launcher.prepare(child, name).then(
      () => {
        gateway.checkNow(name);
      },
      () => undefined, // the backend's probe reports the reason
    );
  }
}

/** Writes secrets, starts HTTP workloads and gives every server its port. */
async function place(
  { servers, kept }: Plan,
  { manifests, options, state, workloads }: Site,
  open: readonly number[],
): Promise<ServerSpec[]> {
  const fresh = servers.filter((server) => !kept.includes(server));
  await writeMounts(mountsOf(fresh), manifests.secretValues, state.dir);
  const names = servers.map(serverKey);
  const { ports, moved } = await choosePublicPorts({
    names,
    base: options.port,
    explicit: options.portIsExplicit,
    host: options.host,
    file: state.portsFile,
    open,
  });
  for (const { name, from, to } of moved) {
    process.stderr.write(
      `${name} moved from port ${String(from)} to ${String(to)}: another program listens on ${String(from)}\n`,
    );
  }
  if (names[0] !== undefined && !options.portIsExplicit && !Object.values(ports).includes(options.port)) {
    process.stderr.write(`port ${String(options.port)} is in use: ${names[0]} listens on ${String(ports[names[0]])}\n`);
  }
  const configs = await workloads.run(servers.map(({ config }) => config));
  const specs = configs.map((config, index) => ({
    config,
    host: options.host,
    port: ports[names[index] ?? ''] ?? 0,
    local: true,
    stateDir: state.authServerDir(names[index] ?? ''),
  }));
  for (const line of [...issuerPortLines(specs), ...redirectUriLines(configs)]) process.stderr.write(`${line}\n`);
  return specs;
}

interface Site {
  readonly paths: readonly string[];
  readonly options: UpOptions;
  readonly state: State;
  readonly workloads: HttpWorkloads;
  /** Warnings of the last read. */
  readonly printed: Set<string>;
  running: readonly RunnableServer[];
  /** Files that were applied last. */
  manifests: Examination['manifests'];
}

/** Applies the changed files by the rules of the start. An invalid server keeps its previous configuration. */
async function reload(site: Site, gateway: Gateway): Promise<void> {
  const { paths, options, state } = site;
  const { stderr, stdout } = process;
  const seen = await readFiles(paths, options, state.dir, site.printed);
  if (!seen) {
    stderr.write('the files were not applied: the previous configuration stays active\n');
    return;
  }
  const plan = planServers(seen, site.running);
  for (const server of plan.kept)
    stderr.write(`${serverKey(server)} has a problem: its previous configuration stays active\n`);
  stderr.write(leftOutLines(plan.servers.filter((server) => !plan.kept.includes(server))));
  const open = gateway.servers.map(({ mcpUrl }) => Number(new URL(mcpUrl).port));
  try {
    const specs = await place(plan, { ...site, manifests: seen.manifests }, open);
    const before = site.running;
    site.running = plan.servers;
    site.manifests = seen.manifests;
    await gateway.swap(specs);
    await record(gateway, site);
    await pruneMounts(mountsOf(plan.servers), state.dir);
    const changes = describeChanges(before, plan.servers).map((line) => `applied: ${line}\n`);
    stdout.write(changes.join(''));
    if (!hasSameServers(before, plan.servers)) stdout.write(tableOf(gateway, options));
    else if (changes.length === 0) stdout.write('applied: no setting has changed, values of Secrets were read again\n');
  } catch (error) {
    if (!(error instanceof PortInUse || error instanceof ListenError)) throw error;
    stderr.write(`${error.message}\n`);
  }
}
