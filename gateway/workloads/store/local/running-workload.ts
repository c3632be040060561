import { setTimeout as sleep } from 'node:timers/promises';
import type { BackendProcess } from '../../../contract/gateway-config.ts';
import { withFields } from '../../../contract/logger.ts';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import { containerOptionsOf } from '../../container/options.ts';
import { isPackage, readReference } from '../../definition/run-config-of.ts';
import { servingConfigOf } from '../../definition/serving-config.ts';
import type { LoginState } from '../../definition/status.ts';
import type { Authenticator } from '../../../outgoing/authenticator.ts';
import type { ServedWorkload, ServedState, WorkloadHost } from '../../host.ts';
import type { PortBook } from '../../runner/ports.ts';
import { endSentence } from '../../runner/restarts.ts';
import type { Launcher, LaunchState } from '../../runner/runner.ts';
import type { OutputLog } from './output-log.ts';
import { effectiveConfig } from './effective-config.ts';
import { secretReader } from './secret-values.ts';
import { startServerProcess, type ServerProcess } from './server-process.ts';
import { hasLogin, isSameLogin, WorkloadLogin, type WorkloadLoginDeps } from './workload-login.ts';
import { afterTimeout, within } from '../../../kit/time.ts';

export interface RunningDeps extends Omit<WorkloadLoginDeps, 'onState'> {
  readonly host: WorkloadHost;
  readonly launcher: Launcher;
  readonly ports: PortBook;
  readonly readFile: (path: string) => string;
}

/** The new settings of a workload do not run. `message` is for users. */
export class SwapFailed extends Error {}

/** Time in which the server of new settings must open its port, and then answer a probe. */
const OPEN_WITHIN_MS = 60_000;
const ANSWER_WITHIN_MS = 30_000;
const PROBE_EVERY_MS = 250;
const DRAIN_MS = 5_000;

const NO_HEADERS = Object.freeze({});

const portKeys = (name: string): [string, string] => [`workloads/${name}/a`, `workloads/${name}/b`];

type Settings = Pick<Backing, 'config' | 'effective'>;

/** The server and the values of secrets behind one run configuration. */
interface Backing {
  readonly config: RunConfig;
  /** Result of `effectiveConfig` at the start. */
  readonly effective: RunConfig;
  readonly server: ServerProcess | undefined;
  readonly portKey: string;
  readonly process: BackendProcess | undefined;
  readonly values: ReadonlyMap<string, string>;
  readonly login: WorkloadLogin | undefined;
}

/** One workload that runs: its listener and, unless the gateway starts it on demand, its server. */
export class RunningWorkload {
  readonly #deps: RunningDeps;
  readonly #output: OutputLog;
  #backing!: Backing;
  #values: ReadonlyMap<string, string> = new Map();
  #served!: ServedWorkload;
  /** Server of new settings that has not replaced the old one yet. */
  #next: ServerProcess | undefined;
  readonly #interrupted = new AbortController();

  /** Throws `OperationError`, `ListenError` or `BoundaryImpossible`. */
  static async start(config: RunConfig, output: OutputLog, deps: RunningDeps): Promise<RunningWorkload> {
    const running = new RunningWorkload(output, deps);
    running.#backing = await running.#open(await settingsOf(config), portKeys(config.name ?? '')[0]);
    running.#values = running.#backing.values;
    try {
      running.#served = await running.#listen(running.#backing);
      return running;
    } catch (error) {
      await close(running.#backing);
      throw error;
    }
  }

  private constructor(output: OutputLog, deps: RunningDeps) {
    this.#output = output;
    this.#deps = deps;
  }

  get config(): RunConfig {
    return this.#backing.config;
  }

  get port(): number {
    return this.#served.port;
  }

  state(): ServedState {
    return this.#served.state();
  }

  login(): LoginState | undefined {
    return this.#backing.login?.state();
  }

  /**
   * Replaces the settings. The new server starts beside the old one, which is stopped once the new one answers. Sessions of
   * clients stay unless the listener moves. Throws `SwapFailed`, and then the old settings still run.
   */
  async swap(config: RunConfig): Promise<void> {
    const before = this.#backing;
    const settings = await settingsOf(config); // before anything of the old settings stops
    if (isExclusive(before, config)) await before.server?.stop();
    const keepsLogin = before.login !== undefined && hasLogin(config) && isSameLogin(before.config, config);
    if (!keepsLogin) await before.login?.close();
    const next = await this.#open(settings, otherKey(before), keepsLogin ? before.login : undefined);
    this.#next = next.server;
    try {
      if (next.server && !(await next.server.isOpenWithin(OPEN_WITHIN_MS)))
        throw new SwapFailed(unopened(next.server.launchState()));
      // probes fail until a slow issuer has answered the login, which says nothing about the settings
      if (next.login) await this.#tried(next.login);
      await this.#adopt(next);
      await this.#answers();
    } catch (error) {
      await next.server?.stop();
      if (this.#interrupted.signal.aborted) this.#backing = before;
      if (!keepsLogin) await next.login?.close();
      await this.#restore(before, config, keepsLogin);
      throw error instanceof SwapFailed
        ? error
        : new SwapFailed(error instanceof Error ? error.message : String(error));
    }
    this.#next = undefined;
    await before.server?.stop();
    this.#deps.ports.forget(before.portKey);
  }

  /** Waits until the login has been tried, for some time at most. */
  async #tried({ tried }: WorkloadLogin): Promise<void> {
    const { signal } = this.#interrupted;
    const ended = await within(ANSWER_WITHIN_MS, tried, 'late', { after: afterTimeout, signal });
    if (ended === 'late' && signal.aborted) throw new SwapFailed('vmcp is stopping');
  }

  /** Ends a running `swap`, before `stop`. */
  async interrupt(): Promise<void> {
    this.#interrupted.abort();
    await this.#next?.stop();
  }

  async stop(graceMs = DRAIN_MS): Promise<void> {
    await this.#served.stop(graceMs);
    await close(this.#backing);
  }

  /** Serves the new settings, on the same listener if it does not move. */
  async #adopt(next: Backing): Promise<void> {
    const before = this.#backing;
    const moves = before.config.host !== next.config.host || before.config.port !== next.config.port;
    this.#values = new Map([...this.#values, ...next.values]);
    this.#backing = next;
    if (moves) {
      const old = this.#served;
      this.#served = await this.#listen(next);
      void old.stop(DRAIN_MS);
    } else await this.#served.swap(serving(next, this.#deps));
    this.#values = next.values;
  }

  /** Returns to settings that ran before. */
  async #restore(before: Backing, failed: RunConfig, keepsLogin: boolean): Promise<void> {
    if (this.#interrupted.signal.aborted) return;
    const isStopped = isExclusive(before, failed) || (before.login !== undefined && !keepsLogin);
    const earlier = isStopped ? await this.#open(before, before.portKey) : before;
    if (this.#backing === earlier) return;
    await this.#adopt(earlier);
    await this.#served.probe(); // its tools are listed again when the edit counts as undone
  }

  /**
   * Waits for the first answer to the new settings. A server that rejects the credential does answer, and one whose login
   * waits for the user has answered too: the user may take minutes.
   */
  async #answers(): Promise<void> {
    const end = performance.now() + ANSWER_WITHIN_MS;
    for (;;) {
      await this.#served.probe(); // until then the state is that of the old settings
      const { status, isPermanent, reason, failedProbes, restart } = this.state();
      if (this.#interrupted.signal.aborted) throw new SwapFailed('vmcp is stopping');
      if (status === 'unauthenticated' || this.login()?.kind === 'login_required') return;
      if (restart && !restart.isOpen) throw new SwapFailed(endSentence(restart));
      if (failedProbes === 0 && (status === 'healthy' || status === 'degraded')) return;
      if (isPermanent || status === 'unhealthy' || performance.now() >= end)
        throw new SwapFailed(reason ?? 'the server does not answer');
      await sleep(PROBE_EVERY_MS);
    }
  }

  /** Credential of the settings that run: a listener stays while they change. */
  readonly #authenticator: Authenticator = {
    perUser: false,
    headers: (caller) => this.#backing.login?.authenticator.headers(caller) ?? NO_HEADERS,
    refused: (caller, sent) => this.#backing.login?.authenticator.refused(caller, sent) ?? false,
  };

  /** Starts the server or the login of settings. */
  async #open({ config, effective }: Settings, portKey: string, login?: WorkloadLogin): Promise<Backing> {
    const { launcher, ports, log, secrets } = this.#deps;
    const values = await secrets.resolve(effective);
    const process = processOf(effective, values);
    const isHttp = process !== undefined && effective.transport !== 'stdio';
    const server = isHttp
      ? await startServerProcess({
          ...{ launcher, ports, log, process, portKey, name: effective.name ?? '' },
          transport: effective.transport === 'sse' ? 'sse' : 'streamable-http',
          onLine: (line) => {
            this.#output.append(line);
          },
          onChange: () => {
            this.#probe();
          },
        })
      : undefined;
    return { config, effective, server, portKey, process, values, login: login ?? this.#logIn(effective) };
  }

  #probe(): void {
    void (this.#served as ServedWorkload | undefined)?.probe(); // the server or the login may be faster than the listener
  }

  #logIn(config: RunConfig): WorkloadLogin | undefined {
    if (!hasLogin(config)) return undefined;
    const onState = (): void => {
      this.#probe();
    };
    return new WorkloadLogin(config, { ...this.#deps, onState });
  }

  #listen(backing: Backing): Promise<ServedWorkload> {
    const { host, log, readFile } = this.#deps;
    const { config } = backing;
    return host.serve({
      config: serving(backing, this.#deps),
      host: config.host ?? '127.0.0.1',
      port: config.port ?? 0,
      launcher: withOutput(this.#deps.launcher, config.name ?? '', this.#output),
      launchState: (): LaunchState | undefined => this.#backing.server?.launchState(),
      readSecret: (path) => secretReader(this.#values, readFile)(path),
      authenticator: this.#authenticator,
      log: withFields(log, { workload: config.name }),
    });
  }
}

/** Throws `OperationError` with the reasons why settings cannot run. */
async function settingsOf(config: RunConfig): Promise<Settings> {
  const read = await effectiveConfig(config);
  if ('config' in read) return { config, effective: read.config };
  const sentences = read.problems.map(({ path, message }) => `${path}: ${message}`);
  throw new OperationError('invalid_workload', sentences.join('; '));
}

/** Returns true when both servers would need the same fixed port of this machine. */
function isExclusive({ config, server }: Backing, next: RunConfig): boolean {
  const isFixed = isPackage(next.image ?? '') && next.target_port !== undefined && next.target_port > 0;
  return server !== undefined && isFixed && config.target_port === next.target_port;
}

/** Returns the reason why a server has not opened its port. */
function unopened({ problem, restart }: LaunchState): string {
  if (problem) return problem.message;
  return restart ? endSentence(restart) : 'the new server does not open its port';
}

function otherKey({ config, portKey }: Backing): string {
  const [one, other] = portKeys(config.name ?? '');
  return portKey === one ? other : one;
}

async function close({ server, login }: Backing): Promise<void> {
  await Promise.all([server?.stop(), login?.close()]);
}

/** Returns the process of a workload with an image, with the values of its secrets. */
export function processOf(config: RunConfig, values: ReadonlyMap<string, string>): BackendProcess | undefined {
  const { image, cmd_args: args, env_vars: variables, secrets = [], target_port: port } = config;
  const { package: choices, working_dir: folder } = config;
  if (!image) return undefined;
  const fromSecrets = secrets.flatMap((text) => {
    const { name, target } = readReference(text) ?? {};
    const value = name === undefined ? undefined : values.get(name);
    return target === undefined || value === undefined ? [] : [[target, value] as const];
  });
  const { options: container } = containerOptionsOf(config);
  const environment = { ...variables, ...Object.fromEntries(fromSecrets) };
  return {
    image,
    ...(args && { args }),
    ...(Object.keys(environment).length > 0 && { env_vars: environment }),
    ...(port ? { target_port: port } : {}),
    ...(container && { container }),
    ...(choices && { package: choices }),
    ...(folder && { working_dir: folder }),
  };
}

function serving({ effective, server, process, values }: Backing, { allowPrivateIps }: RunningDeps) {
  const headers = Object.entries(effective.header_forward?.add_headers_from_secret ?? {});
  const secretHeaders = Object.fromEntries(headers.map(([header, name]) => [header, values.get(name) ?? '']));
  return servingConfigOf(effective, {
    ...(server && { serverUrl: server.url }),
    ...(process && effective.transport === 'stdio' && { process }),
    secretHeaders,
    allowPrivateIps,
  });
}

/** Returns a launcher that starts the processes of one workload under its name, and keeps their output. */
const withOutput = (launcher: Launcher, name: string, output: OutputLog): Launcher => ({
  prepare: (process, _backend, options) => launcher.prepare(process, name, options),
  spawn: (command, options) =>
    launcher.spawn(command, {
      ...options,
      name,
      onLine: (line) => {
        output.append(line);
      },
    }),
  removeContainers: () => launcher.removeContainers(name),
  close: () => Promise.resolve(),
});
