import type { Environment } from '../../../workloads/runner/environment.ts';
import type { ClusterAccess } from '../../cluster-access.ts';
import type { ConnectOnePassword } from '../one-password-sdk.ts';
import type { Keyring } from '../password.ts';

const PREFIX = 'VMCP_SECRET_';

/** Returns the secret that a variable of the process holds. An empty variable counts as absent. */
export const environmentSecret = (env: Environment, name: string): string | undefined =>
  env[`${PREFIX}${name}`] || undefined;

/** Secret in a list, without its value. */
export interface ListedSecret {
  readonly key: string;
  readonly description?: string;
}

/** State of a secret that a change requires. */
export type RequiredState = 'absent' | 'present' | 'any';

/**
 * Store of secrets. A provider has the methods of its capabilities. All methods throw `SecretsFailure` if the store does not
 * work, and `engine_unavailable` while the API server of a cluster is away.
 */
export interface SecretsProvider {
  /** Prepares and tests the store. Throws `no_keyring` and `password_conflict` for a mistake of the client. */
  setUp(password: string | undefined): Promise<void>;
  /** Returns undefined for a secret that does not exist. */
  get(name: string): Promise<string | undefined>;
  /** Stores a secret. Returns false and stores nothing if the secret is not in the required state. */
  set?(name: string, value: string, required: RequiredState): Promise<boolean>;
  /** Returns false for a secret that does not exist. */
  delete?(name: string): Promise<boolean>;
  /** Lists all secrets, including internal ones. */
  list?(): Promise<readonly ListedSecret[]>;
  /** Deletes all secrets. */
  clear?(): Promise<void>;
}

export interface ProviderDeps {
  /** File of the encrypted provider. */
  readonly encryptedPath: string;
  /** Binary logarithm of the cost of a key; tests use a low one. */
  readonly log2Cost?: number;
  readonly env: Environment;
  readonly keyring: Keyring;
  readonly connectOnePassword: ConnectOnePassword;
  /** Cluster of the provider `cluster`; absent elsewhere. */
  readonly cluster?: ClusterAccess | undefined;
}

/** Kind of provider. */
export interface ProviderVariant<Type extends string = string> {
  readonly type: Type;
  /** Looks up a missing secret in the environment. */
  readonly hasFallback: boolean;
  readonly create: (deps: ProviderDeps) => SecretsProvider;
}
