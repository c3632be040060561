import { OperationError } from '../../../http/endpoint/request-error.ts';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { readReference } from '../../definition/run-config-of.ts';
import { secretOfPath, secretsOf } from '../../definition/serving-config.ts';

/** Reads the secrets of the user. */
export interface UserSecrets {
  /** Returns undefined for a secret that does not exist. */
  get(name: string): Promise<string | undefined>;
}

/** Secrets that vmcp keeps for workloads. Users do not see them. */
export interface WorkloadSecrets extends UserSecrets {
  set(name: string, value: string): Promise<void>;
  delete(name: string): Promise<boolean>;
}

/** Name that stands in a run configuration for the client secret that came with the settings. */
const OIDC_SECRET = '@oidc-client-secret';
const OIDC_REFERENCE = `${OIDC_SECRET},target=client_secret`;

const keptName = (workload: string): string => `${workload}_oidc_client_secret`;

/** Secrets of workloads: those that users name, and those that came with their settings. */
export class SecretValues {
  readonly #user: UserSecrets;
  readonly #kept: WorkloadSecrets;

  constructor(user: UserSecrets, kept: WorkloadSecrets) {
    this.#user = user;
    this.#kept = kept;
  }

  get(workload: string, name: string): Promise<string | undefined> {
    return name === OIDC_SECRET ? this.#kept.get(keptName(workload)) : this.#user.get(name);
  }

  /** Moves a client secret out of a run configuration. Throws `invalid_workload` without a secrets provider. */
  async keep(config: RunConfig): Promise<RunConfig> {
    const { oidc_config: oidc, name = '' } = config;
    const secret = oidc?.clientSecret;
    if (secret === undefined || readReference(secret) !== undefined) return config;
    try {
      await this.#kept.set(keptName(name), secret);
    } catch (error) {
      throw this.#cannotKeep(error);
    }
    return { ...config, oidc_config: { ...oidc, clientSecret: OIDC_REFERENCE } };
  }

  /** Deletes what was kept for a workload. */
  async forget(workload: string): Promise<void> {
    await this.#kept.delete(keptName(workload)).catch(() => false); // without a provider nothing was kept
  }

  /**
   * Returns the values of all secrets of a workload, by name. Throws `invalid_workload` with the paths of those that do not
   * exist.
   */
  async resolve(config: RunConfig): Promise<ReadonlyMap<string, string>> {
    const values = new Map<string, string>();
    const missing: string[] = [];
    for (const { name, path } of secretsOf(config)) {
      if (values.has(name)) continue;
      const value = await this.get(config.name ?? '', name).catch((error: unknown) => {
        throw this.#unreadable(path, error);
      });
      if (value === undefined) missing.push(`${path} there is no secret "${name}": create it first`);
      else values.set(name, value);
    }
    if (missing.length > 0) throw new OperationError('invalid_workload', missing.join('; '));
    return values;
  }

  #unreadable(path: string, error: unknown): Error {
    if (!(error instanceof OperationError)) return error as Error;
    return new OperationError(
      'invalid_workload',
      `${path} needs a secret, but there is no secrets provider: set one up first`,
    );
  }

  #cannotKeep(error: unknown): Error {
    if (!(error instanceof OperationError)) return error as Error;
    const message =
      'oidc.client_secret is stored as a secret, but there is no writable secrets provider: set one up first';
    return new OperationError('invalid_workload', message);
  }
}

/** Returns the function that reads secrets by the paths of a serving configuration, and other files from the disk. */
export const secretReader =
  (values: ReadonlyMap<string, string>, readFile: (path: string) => string) =>
  (path: string): string => {
    const name = secretOfPath(path);
    if (name === undefined) return readFile(path);
    const value = values.get(name);
    if (value === undefined)
      throw new Error(`the secret ${name} was not read at the start of the workload: restart it`);
    return value;
  };
