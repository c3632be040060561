import { isDeepStrictEqual } from 'node:util';
import type { BackendProcess } from '../../../contract/gateway-config.ts';
import { withFields, type Logger } from '../../../contract/logger.ts';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { withoutMiddlewares } from '../../definition/middlewares.ts';
import { isPackage, readReference } from '../../definition/run-config-of.ts';
import { servingConfigOf } from '../../definition/serving-config.ts';
import type { LoginState } from '../../definition/status.ts';
import type { Served, ServedState, WorkloadHost } from '../../host.ts';
import type { PortBook } from '../../runner/ports.ts';
import type { Launcher, LaunchState } from '../../runner/runner.ts';
import type { OutputLog } from './output-log.ts';
import { secretReader, type SecretValues } from './secret-values.ts';
import { startServerProcess, type ServerProcess } from './server-process.ts';

export interface RunningDeps {
  readonly host: WorkloadHost;
  readonly launcher: Launcher;
  readonly ports: PortBook;
  readonly secrets: SecretValues;
  readonly readFile: (path: string) => string;
  readonly allowPrivateIps: boolean;
  readonly log: Logger;
}

/** The new settings of a workload do not run. `message` is for users. */
export class SwapFailed extends Error {}

/** Time in which the server of new settings must open its port, and then answer a probe. */
const OPEN_WITHIN_MS = 60_000;
const ANSWER_WITHIN_MS = 30_000;
const PROBE_EVERY_MS = 250;
const DRAIN_MS = 5_000;

const portKeys = (name: string): [string, string] => [`workloads/${name}/a`, `workloads/${name}/b`];

/** The server and the values of secrets behind one run configuration. */
interface Backing {
  readonly config: RunConfig;
  readonly server: ServerProcess | undefined;
  readonly portKey: string;
  readonly process: BackendProcess | undefined;
  readonly values: ReadonlyMap<string, string>;
}

/** One workload that runs: its listener and, unless the gateway starts it on demand, its server. */
export class RunningWorkload {
  readonly #deps: RunningDeps;
  readonly #output: OutputLog;
  #backing: Backing;
  #values: ReadonlyMap<string, string>;
  #served!: Served;
  readonly login: (() => LoginState) | undefined = undefined;

  /** Throws `OperationError`, `ListenError` or `BoundaryImpossible`. */
  static async start(config: RunConfig, output: OutputLog, deps: RunningDeps): Promise<RunningWorkload> {
    const backing = await openBacking(config, portKeys(config.name ?? '')[0], output, deps);
    const running = new RunningWorkload(backing, output, deps);
    try {
      running.#served = await running.#listen(backing);
      return running;
    } catch (error) {
      await backing.server?.stop();
      throw error;
    }
  }

  private constructor(backing: Backing, output: OutputLog, deps: RunningDeps) {
    this.#backing = backing;
    this.#values = backing.values;
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

  /**
   * Replaces the settings. The new server starts beside the old one, which is stopped once the new one answers. Sessions of
   * clients stay unless the listener moves. Throws `SwapFailed`, and then the old settings still run.
   */
  async swap(config: RunConfig): Promise<void> {
    const before = this.#backing;
    if (isExclusive(before, config)) await before.server?.stop();
    const next = await openBacking(config, otherKey(before), this.#output, this.#deps);
    try {
      if (next.server && !(await next.server.isOpenWithin(OPEN_WITHIN_MS)))
        throw new SwapFailed(next.server.launchState().problem?.message ?? 'the new server does not open its port');
      await this.#adopt(next);
      await this.#answers();
    } catch (error) {
      await next.server?.stop();
      await this.#restore(before, config);
      throw error instanceof SwapFailed
        ? error
        : new SwapFailed(error instanceof Error ? error.message : String(error));
    }
    await before.server?.stop();
    this.#deps.ports.forget(before.portKey);
  }

  async stop(graceMs = DRAIN_MS): Promise<void> {
    await this.#served.stop(graceMs);
    await this.#backing.server?.stop();
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
    this.#served.checkNow();
  }

  /** Returns to settings that ran before. */
  async #restore(before: Backing, failed: RunConfig): Promise<void> {
    if (isExclusive(before, failed) && before.server)
      before = await openBacking(before.config, before.portKey, this.#output, this.#deps);
    if (this.#backing === before) return;
    await this.#adopt(before);
  }

  /** Waits for the first answer to the new settings. A server that rejects the credential does answer. */
  async #answers(): Promise<void> {
    const end = performance.now() + ANSWER_WITHIN_MS;
    for (;;) {
      const { status, isPermanent, reason } = this.state();
      if (status === 'healthy' || status === 'degraded' || status === 'unauthenticated') return;
      if (isPermanent || status === 'unhealthy' || performance.now() >= end)
        throw new SwapFailed(reason ?? 'the server does not answer');
      await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS));
    }
  }

  #listen(backing: Backing): Promise<Served> {
    const { host, log, readFile } = this.#deps;
    const { config } = backing;
    return host.serve({
      config: serving(backing, this.#deps),
      host: config.host ?? '127.0.0.1',
      port: config.port ?? 0,
      launcher: withOutput(this.#deps.launcher, config.name ?? '', this.#output),
      launchState: (): LaunchState | undefined => this.#backing.server?.launchState(),
      readSecret: (path) => secretReader(this.#values, readFile)(path),
      log: withFields(log, { workload: config.name }),
    });
  }
}

/** Returns true when both servers would need the same fixed port of this machine. */
function isExclusive({ config, server }: Backing, next: RunConfig): boolean {
  const isFixed = isPackage(next.image ?? '') && next.target_port !== undefined && next.target_port > 0;
  return server !== undefined && isFixed && config.target_port === next.target_port;
}

function otherKey({ config, portKey }: Backing): string {
  const [one, other] = portKeys(config.name ?? '');
  return portKey === one ? other : one;
}

async function openBacking(config: RunConfig, portKey: string, output: OutputLog, deps: RunningDeps): Promise<Backing> {
  const { config: effective } = withoutMiddlewares(config);
  const values = await deps.secrets.resolve(effective);
  const process = processOf(effective, values);
  const isHttp = process !== undefined && effective.transport !== 'stdio';
  const server = isHttp
    ? await startServerProcess({
        launcher: deps.launcher,
        process,
        name: effective.name ?? '',
        transport: effective.transport === 'sse' ? 'sse' : 'streamable-http',
        ports: deps.ports,
        portKey,
        log: deps.log,
        onLine: (line) => {
          output.append(line);
        },
      })
    : undefined;
  return { config, server, portKey, process, values };
}

/** Returns the process of a workload with an image, with the values of its secrets. */
export function processOf(config: RunConfig, values: ReadonlyMap<string, string>): BackendProcess | undefined {
  const { image, cmd_args: args, env_vars: variables, secrets = [], target_port: port } = config;
  if (!image) return undefined;
  const fromSecrets = secrets.flatMap((text) => {
    const { name, target } = readReference(text) ?? {};
    const value = name === undefined ? undefined : values.get(name);
    return target === undefined || value === undefined ? [] : [[target, value] as const];
  });
  const environment = { ...variables, ...Object.fromEntries(fromSecrets) };
  return {
    image,
    ...(args && { args }),
    ...(Object.keys(environment).length > 0 && { env_vars: environment }),
    ...(port ? { target_port: port } : {}),
  };
}

function serving({ config, server, process, values }: Backing, { allowPrivateIps }: RunningDeps) {
  const { config: effective } = withoutMiddlewares(config);
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
  close: () => Promise.resolve(),
});

/** Returns true when two run configurations serve the same. */
export const isSameConfig = (one: RunConfig, other: RunConfig): boolean => isDeepStrictEqual(one, other);
