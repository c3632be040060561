import { OperationError } from '../../../http/endpoint/request-error.ts';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { KEPT_SECRETS, type Extracted } from '../../definition/kept-secrets.ts';
import { forgetRemoteLogin, type WorkloadSecrets } from '../../remote-login/stored-record.ts';
import { secretOfPath } from '../../../contract/run-config/secret-path.ts';
import { secretsOf } from '../../definition/serving-config.ts';

/** Reads the secrets of the user. */
export interface UserSecrets {
  /** Returns undefined for a secret that does not exist. */
  get(name: string): Promise<string | undefined>;
}

/** Name in the secrets provider of a secret that came as a value. */
const keptName = (workload: string, name: string): string => `${workload}_${name.slice(1)}`;

/** Secrets of workloads: those that users name, and those that came with their settings. */
export class SecretValues {
  readonly #user: UserSecrets;
  /** Secrets that vmcp keeps. */
  readonly kept: WorkloadSecrets;

  constructor(user: UserSecrets, kept: WorkloadSecrets) {
    this.#user = user;
    this.kept = kept;
  }

  get(workload: string, name: string): Promise<string | undefined> {
    return KEPT_SECRETS.includes(name) ? this.kept.get(keptName(workload, name)) : this.#user.get(name);
  }

  /** Stores the secrets that came as values. Throws `invalid_workload` without a writable secrets provider. */
  async keep(workload: string, values: Extracted['values']): Promise<void> {
    for (const [name, value] of values) {
      await this.kept.set(keptName(workload, name), value).catch((error: unknown) => {
        if (!(error instanceof OperationError)) throw error;
        const message =
          'the settings hold a secret, and there is no writable secrets provider to keep it: set one up first with POST /api/v1beta/secrets';
        throw new OperationError('invalid_workload', message);
      });
    }
  }

  /** Deletes what was kept for a workload. */
  async forget(workload: string): Promise<void> {
    for (const name of KEPT_SECRETS) await this.kept.delete(keptName(workload, name)).catch(() => false); // without a provider nothing was kept
    await forgetRemoteLogin(workload, this.kept).catch(() => undefined);
  }

  /**
   * Returns the values of all secrets of a workload, by name; `given` are not stored yet. Throws `invalid_workload` with the
   * paths of those that do not exist, and of keys that are empty.
   */
  async resolve(config: RunConfig, given: Extracted['values'] = new Map()): Promise<ReadonlyMap<string, string>> {
    const values = new Map(given);
    const missing: string[] = [];
    for (const { name, path, isKey } of secretsOf(config)) {
      const value =
        values.get(name) ??
        (await this.get(config.name ?? '', name).catch((error: unknown) => {
          throw this.#unreadable(path, error);
        }));
      if (value === undefined) missing.push(`${path} there is no secret "${name}": create it first`);
      else if (isKey && value.trim() === '') missing.push(`${path} the secret "${name}" is empty: give it a value`);
      else values.set(name, value);
    }
    if (missing.length > 0) throw new OperationError('invalid_workload', missing.join('; '));
    return values;
  }

  #unreadable(path: string, error: unknown): Error {
    if (!(error instanceof OperationError)) return error as Error;
    return new OperationError(
      'invalid_workload',
      `${path} needs a secret, but there is no secrets provider: set one up first with POST /api/v1beta/secrets`,
    );
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
