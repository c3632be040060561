import { join } from 'node:path';
import { Type } from 'typebox';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { StateFile } from '../state/state-file.ts';
import type { Environment } from '../../workloads/runner/environment.ts';
import type { ClusterAccess } from '../cluster-access.ts';
import type { ConnectOnePassword } from './one-password-sdk.ts';
import type { Keyring } from './password.ts';
import { PROVIDERS, type ProviderType } from './providers/index.ts';
import {
  environmentSecret,
  type ListedSecret,
  type ProviderDeps,
  type ProviderVariant,
  type SecretsProvider,
} from './providers/provider.ts';
import { SecretsFailure } from './secrets-failure.ts';

/** Reads secrets for other parts of vmcp. */
interface SecretReader {
  /** Returns undefined for a secret that does not exist. Throws `SecretsFailure` if the provider does not work. */
  get(name: string): Promise<string | undefined>;
}

/** Internal secrets of one part of vmcp. The API does not show them. */
interface SystemSecrets extends SecretReader {
  set(name: string, value: string): Promise<void>;
  /** Returns false for a secret that does not exist. */
  delete(name: string): Promise<boolean>;
}

/** Operations that a provider supports. */
interface Capabilities {
  readonly can_read: boolean;
  readonly can_write: boolean;
  readonly can_delete: boolean;
  readonly can_list: boolean;
  readonly can_cleanup: boolean;
}

export interface SecretsOptions {
  readonly stateDir: string;
  readonly env: Environment;
  readonly keyring: Keyring;
  readonly connectOnePassword: ConnectOnePassword;
  /** Cluster that holds the secrets, and the only provider then. */
  readonly cluster?: ClusterAccess | undefined;
  /** Binary logarithm of the cost of a key; tests use a low one. */
  readonly log2Cost?: number;
}

const Settings = Type.Object({ provider_type: Type.Optional(Type.String()) });

interface Active extends ProviderVariant<ProviderType> {
  readonly provider: SecretsProvider;
}

/**
 * Secrets of the management API, in the provider that the user has set up. The choice is kept in `secrets-provider.json`, and
 * `VMCP_SECRETS_PROVIDER` overrides it. In a cluster the provider is always `cluster`.
 */
export class Secrets implements SecretReader {
  readonly #env: Environment;
  readonly #settings: StateFile<typeof Settings>;
  readonly #providers: ReadonlyMap<string, Active>;
  readonly #isInCluster: boolean;

  constructor({ stateDir, ...others }: SecretsOptions) {
    const deps: ProviderDeps = { encryptedPath: join(stateDir, 'secrets_encrypted'), ...others };
    this.#env = others.env;
    this.#isInCluster = others.cluster !== undefined;
    this.#settings = new StateFile(join(stateDir, 'secrets-provider.json'), Settings, {});
    this.#providers = new Map(
      PROVIDERS.map((variant) => [variant.type, { ...variant, provider: variant.create(deps) }]),
    );
  }

  /**
   * Prepares and tests a provider, then chooses it. Throws `no_keyring`, `password_conflict`, `no_cluster`, `only_cluster` and
   * `SecretsFailure`.
   */
  async setUp(type: ProviderType, password: string | undefined): Promise<string> {
    if (this.#isInCluster && type !== 'cluster') throw new OperationError('only_cluster');
    await this.#active(type).provider.setUp(password === '' ? undefined : password);
    if (this.#isInCluster) return 'the secrets provider cluster is set up';
    const { provider_type: previous } = await this.#settings.read();
    await this.#settings.update((settings) => (settings.provider_type === type ? settings : { provider_type: type }));
    const override = this.#override();
    const note = override === undefined || override === type ? '' : `, but VMCP_SECRETS_PROVIDER selects ${override}`;
    return `the secrets provider ${type} is ${previous === undefined ? 'set up' : 'reconfigured'}${note}`;
  }

  /** Throws `not_set_up`. */
  async describe(): Promise<{ readonly type: ProviderType; readonly capabilities: Capabilities }> {
    const { type, provider } = await this.#chosen();
    const capabilities: Capabilities = {
      can_read: true,
      can_write: provider.set !== undefined,
      can_delete: provider.delete !== undefined,
      can_list: provider.list !== undefined,
      can_cleanup: provider.clear !== undefined,
    };
    return { type, capabilities };
  }

  /** Throws `reserved_name`, `not_set_up`, `unsupported` and `secret_exists`. */
  async create(name: string, value: string): Promise<void> {
    if (isReserved(name)) throw new OperationError('reserved_name');
    const active = await this.#chosen();
    const set = setterOf(active);
    if (this.#fallback(active, name) !== undefined || !(await set(name, value, 'absent'))) {
      throw new OperationError('secret_exists');
    }
  }

  /** Throws `not_set_up`, `unsupported` and `secret_not_found`. */
  async update(name: string, value: string): Promise<void> {
    const active = await this.#chosen();
    const set = setterOf(active);
    const required = this.#fallback(active, name) === undefined ? 'present' : 'any';
    if (isReserved(name) || !(await set(name, value, required))) throw new OperationError('secret_not_found');
  }

  /** Throws `not_set_up`, `unsupported` and `secret_not_found`. */
  async delete(name: string): Promise<void> {
    const { provider, type } = await this.#chosen();
    if (!provider.delete) throw unsupported(type);
    if (isReserved(name) || !(await provider.delete(name))) throw new OperationError('secret_not_found');
  }

  /** Lists the secrets of the user by name. Throws `not_set_up` and `unsupported`. */
  async list(): Promise<readonly ListedSecret[]> {
    const { provider, type } = await this.#chosen();
    if (!provider.list) throw unsupported(type);
    const secrets = (await provider.list()).filter(({ key }) => !isReserved(key));
    return secrets.toSorted((one, other) => (one.key < other.key ? -1 : 1));
  }

  /** Also throws `not_set_up`. */
  async get(name: string): Promise<string | undefined> {
    if (isReserved(name)) return undefined;
    const active = await this.#chosen();
    return (await active.provider.get(name)) ?? this.#fallback(active, name);
  }

  /** Returns the internal secrets of one part of vmcp. Its methods also throw `not_set_up` and `unsupported`. */
  system(scope: SystemScope): SystemSecrets {
    return {
      get: async (name) => (await this.#chosen()).provider.get(systemName(scope, name)),
      set: async (name, value) => {
        await setterOf(await this.#chosen())(systemName(scope, name), value, 'any');
      },
      delete: async (name) => {
        const { provider, type } = await this.#chosen();
        if (!provider.delete) throw unsupported(type);
        return provider.delete(systemName(scope, name));
      },
    };
  }

  #fallback({ hasFallback }: Active, name: string): string | undefined {
    return hasFallback ? environmentSecret(this.#env, name) : undefined;
  }

  #override(): string | undefined {
    return this.#env['VMCP_SECRETS_PROVIDER'] || undefined;
  }

  /** Returns the provider in use. Before the first setup, `VMCP_SECRETS_PROVIDER` can select only the environment. Throws `not_set_up`. */
  async #chosen(): Promise<Active> {
    if (this.#isInCluster) return this.#active('cluster');
    const { provider_type: chosen } = await this.#settings.read();
    const type = this.#override() ?? chosen;
    if (type === undefined || (chosen === undefined && type !== 'environment')) throw new OperationError('not_set_up');
    return this.#active(type);
  }

  #active(type: string): Active {
    const active = this.#providers.get(type);
    if (active) return active;
    throw new SecretsFailure(
      'broken',
      `there is no secrets provider "${type}": correct VMCP_SECRETS_PROVIDER, or set up a provider`,
    );
  }
}

function setterOf({ type, provider }: Active): NonNullable<SecretsProvider['set']> {
  if (!provider.set) throw unsupported(type);
  return provider.set.bind(provider);
}

const unsupported = (type: ProviderType): OperationError =>
  new OperationError('unsupported', `the secrets provider ${type} does not support this operation`);

/** Prefix of the names of internal secrets. */
const RESERVED_PREFIX = '__sys_';

/** Parts of vmcp that store internal secrets. */
type SystemScope = 'registry' | 'workloads' | 'auth';

/** Returns true for names that the API neither shows nor changes. */
const isReserved = (name: string): boolean => name.startsWith(RESERVED_PREFIX);

const systemName = (scope: SystemScope, name: string): string => `${RESERVED_PREFIX}${scope}_${name}`;
