import type { Problem } from '../../../contract/problem.ts';
import { Value } from 'typebox/value';
import { RunConfig } from '../../../contract/run-config/run-config.ts';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import { checkGatewayConfig } from '../../../read-gateway-config.ts';
import { containerOptionsOf } from '../../container/options.ts';
import { withoutMiddlewares } from '../../definition/middlewares.ts';
import type { FromRegistry } from '../../definition/entry/registry-entry.ts';
import { runConfigProblems } from '../../definition/problems.ts';
import { inlineKeyProblems } from '../../definition/webhook-secrets.ts';
import { extractSecrets, type Extracted } from '../../definition/kept-secrets.ts';
import { runConfigOf, withIsolation } from '../../definition/run-config-of.ts';
import { servingConfigOf } from '../../definition/serving-config.ts';
import type { NewWorkload, WorkloadSettings } from '../../definition/settings.ts';
import { checkImage } from '../../runner/launcher.ts';
import { hostFault, isPortFree } from '../../runner/ports.ts';
import { LaunchError, type Launcher, type LaunchReason } from '../../runner/runner.ts';
import { withRegistryDefaults, type RegistryDefaultsDeps } from '../registry-defaults.ts';
import { processOf } from './running-workload.ts';
import { effectiveConfig } from './effective-config.ts';
import type { SecretValues } from './secret-values.ts';
import { within } from '../../../kit/time.ts';

export interface ValidationDeps extends RegistryDefaultsDeps {
  readonly launcher: Launcher;
  readonly secrets: SecretValues;
  /** Random number from 0 to 1, so that two processes rarely choose the same port. */
  readonly random: () => number;
  readonly hasGroup: (name: string) => Promise<boolean>;
}

/** Time that `create` waits for an image that cannot be found: the failure is then its answer. */
const BRIEFLY_MS = 10_000;
const NOT_SUPPORTED = 'NotSupportedYet';

/** Answers to launch failures. */
const FAILURES: Partial<Record<LaunchReason, string>> = {
  PackageNotFound: 'image_not_found',
  ImageNotFound: 'image_not_found',
  IsolationUnavailable: 'engine_unavailable',
  MountNotFound: 'invalid_workload',
  MountRefused: 'invalid_workload',
  ImagePullFailed: 'image_unavailable',
  InstallFailed: 'image_unavailable',
  InvalidImageReference: 'invalid_workload',
  PackageHasNoBin: 'invalid_workload',
  EnvironmentUnsupported: 'invalid_workload',
  UvxUnavailable: 'engine_unavailable',
  PythonNotFound: 'engine_unavailable',
  ProgramNotFound: 'invalid_workload',
  NoContainerEngine: 'engine_unavailable',
};

/** Checks settings before they are stored. All methods throw `OperationError`. */
export class Validation {
  readonly #deps: ValidationDeps;

  constructor(deps: ValidationDeps) {
    this.#deps = deps;
  }

  /** Returns the run configuration of a new workload, and the settings that it has from a registry entry. */
  async newConfig(request: NewWorkload): Promise<{ readonly extracted: Extracted; readonly from?: FromRegistry }> {
    const { settings, from } = await withRegistryDefaults(request, this.#deps);
    const config = runConfigOf(request.name, settings);
    if (!from) return { extracted: await this.#checked(config, 'strict') };
    return { extracted: await this.#checked({ ...config, registry_server_name: from.server }, 'strict'), from };
  }

  /** Returns the run configuration after an edit. `inUse` are the settings whose kept secrets stay. */
  async edited(name: string, settings: WorkloadSettings, before: RunConfig, inUse: RunConfig[]): Promise<Extracted> {
    return this.#checked(withIsolation(runConfigOf(name, settings, before)), 'strict', inUse);
  }

  /** Checks an imported run configuration. Members that vmcp cannot apply yet are kept; the workload then does not start. */
  async imported(config: RunConfig): Promise<Extracted> {
    return this.#checked(withIsolation(runConfigOf(config.name ?? '', {}, config)), 'lenient');
  }

  /** Throws `group_not_found`. */
  async checkGroup({ group = 'default' }: RunConfig): Promise<void> {
    if (await this.#deps.hasGroup(group)) return;
    throw new OperationError('group_not_found', `group there is no group "${group}": create it first`);
  }

  /** Throws `invalid_workload` for an address on which this machine cannot listen: every port of it would look busy. */
  async checkHost({ host = '' }: RunConfig): Promise<void> {
    const fault = await hostFault(host);
    if (fault === undefined) return;
    const message = `host ${host} cannot be used (${fault}): set an address of this machine, such as 127.0.0.1`;
    throw new OperationError('invalid_workload', message);
  }

  /** Returns the port of the configuration, or a free one. Throws `invalid_workload` for a port in use. */
  async choosePort(config: RunConfig, taken: ReadonlySet<number>): Promise<number> {
    if (config.port !== undefined && config.port > 0) {
      await this.checkPort(config, taken);
      return config.port;
    }
    const { random } = this.#deps;
    const start = Math.floor(random() * PORTS);
    for (let step = 0; step < PORTS; step += 1) {
      const port = FIRST_PORT + ((start + step) % PORTS);
      if (!taken.has(port) && (await isPortFree(port, config.host))) return port;
    }
    throw new OperationError('invalid_workload', 'proxy_port there is no free port: stop other programs');
  }

  async checkPort({ port = 0, host }: RunConfig, taken: ReadonlySet<number>): Promise<void> {
    if (!taken.has(port) && (await isPortFree(port, host))) return;
    throw new OperationError('invalid_workload', `proxy_port ${String(port)} is in use: choose another, or 0 for any`);
  }

  /** Installs the package or pulls the image. */
  async prepare({ config, values }: Extracted, signal: AbortSignal): Promise<void> {
    const { config: effective } = withoutMiddlewares(config);
    const process = processOf(effective, await this.#deps.secrets.resolve(effective, values));
    if (!process) return;
    const port = effective.transport === 'stdio' ? {} : { port: ANY_PORT };
    const prepared = this.#deps.launcher.prepare(process, config.name ?? '', port);
    await Promise.race([prepared, abortion(signal)]).catch(asAnswer);
  }

  /** As `prepare`, but returns after some seconds: the start of the workload then continues with it. */
  async prepareBriefly(config: Extracted, signal: AbortSignal): Promise<void> {
    await within(BRIEFLY_MS, this.prepare(config, signal), undefined);
  }

  /** Checks everything but the port. Members that vmcp cannot apply yet are accepted in `lenient` mode. */
  async #checked(settings: RunConfig, mode: 'strict' | 'lenient', inUse: RunConfig[] = []): Promise<Extracted> {
    refuse(inlineKeyProblems(settings)); // before it is removed below
    // requests may have unknown members, a stored run configuration never has
    const extracted = extractSecrets(Value.Clean(RunConfig, structuredClone(settings)) as RunConfig, inUse);
    const { config, values } = extracted;
    const { config: effective, problems } = withoutMiddlewares(config);
    const all = [
      ...problems,
      ...runConfigProblems(effective),
      ...imageProblems(effective),
      ...containerOptionsOf(effective).problems,
    ];
    const serious = mode === 'strict' ? all : all.filter(({ reason }) => reason !== NOT_SUPPORTED);
    refuse(serious);
    if (all.length === 0) refuse(servingProblems(effective));
    await this.checkGroup(config);
    if (mode === 'strict') {
      await this.#deps.secrets.resolve(effective, values);
      const read = await effectiveConfig(config);
      if ('problems' in read) refuse(read.problems);
    }
    return extracted;
  }
}

/** Range from which ports are chosen: below the ports that systems give to outgoing connections. */
const FIRST_PORT = 20_000;
const PORTS = 12_000;

/** Port of a command that is prepared and not started. */
const ANY_PORT = 1;

/** Rejects when the client has disconnected or the time is over. */
const abortion = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });

function refuse(problems: readonly Problem[]): void {
  if (problems.length === 0) return;
  const text = problems.map(({ path, message }) => `${path} ${message}`).join('; ');
  throw new OperationError('invalid_workload', text);
}

function imageProblems({ image }: RunConfig): Problem[] {
  if (!image) return [];
  try {
    checkImage(image);
    return [];
  } catch (error) {
    return [{ reason: 'InvalidValue', path: 'image', message: (error as Error).message }];
  }
}

/** Finds problems in the members that the gateway itself reads, such as the authorization server. */
function servingProblems(config: RunConfig): Problem[] {
  const process = config.image ? { image: config.image } : undefined;
  const isStdio = config.transport === 'stdio';
  const read = checkGatewayConfig(
    servingConfigOf(config, { ...(process && (isStdio ? { process } : { serverUrl: 'http://127.0.0.1:1/mcp' })) }),
  );
  return 'problems' in read ? read.problems : [];
}

/** Turns a launch failure into an answer. */
function asAnswer(error: unknown): void {
  if (!(error instanceof LaunchError)) throw error;
  const code = FAILURES[error.reason];
  if (code !== undefined) throw new OperationError(code, error.message);
}
