import { OperationError } from '../../../http/endpoint/request-error.ts';
import { ApiError } from '../../../kube/client.ts';
import { RESOURCES, type KubeObject } from '../../../kube/resource.ts';
import { MANAGED_SECRET } from '../../../workloads/server-run-config.ts';
import { unavailableOf } from '../../../workloads/store/kubernetes/api-failure.ts';
import type { ClusterAccess } from '../../cluster-access.ts';
import { SecretsFailure } from '../secrets-failure.ts';
import type { RequiredState, ListedSecret, ProviderVariant, SecretsProvider } from './provider.ts';

interface SecretObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

const KEY = /^[-._A-Za-z0-9]{1,253}$/u;
/** Limit of the API server for all values of a Secret. */
const MAX_BYTES = 1024 * 1024;
/** Attempts while others change the Secret. */
const ATTEMPTS = 10;
const FIELD_MANAGER = 'vmcp-management';
const LABELS = { 'app.kubernetes.io/managed-by': FIELD_MANAGER, 'app.kubernetes.io/part-of': 'vmcp' };

/** The Secret `vmcp-management-secrets` of a cluster. Each secret is one of its keys. */
export const cluster: ProviderVariant<'cluster'> = {
  type: 'cluster',
  hasFallback: false,
  create: ({ cluster: access }) => (access ? new ClusterProvider(access) : new NoCluster()),
};

class ClusterProvider implements SecretsProvider {
  readonly #cluster: ClusterAccess;

  constructor(access: ClusterAccess) {
    this.#cluster = access;
  }

  async setUp(): Promise<void> {
    await this.#read();
  }

  async get(name: string): Promise<string | undefined> {
    const value = dataOf(await this.#read())[name];
    return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
  }

  async list(): Promise<readonly ListedSecret[]> {
    return Object.keys(dataOf(await this.#read())).map((key) => ({ key }));
  }

  set(name: string, value: string, required: RequiredState): Promise<boolean> {
    if (!KEY.test(name) && required === 'present') return Promise.resolve(false);
    if (!KEY.test(name)) return Promise.reject(new OperationError('invalid_secret_name'));
    return this.#change((data) => {
      if (required !== 'any' && (data[name] !== undefined) !== (required === 'present')) return undefined;
      const change = { [name]: Buffer.from(value, 'utf8').toString('base64') };
      if (bytesOf({ ...data, ...change }) > MAX_BYTES) throw new OperationError('secrets_full');
      return change;
    });
  }

  delete(name: string): Promise<boolean> {
    return this.#change((data) => (data[name] === undefined ? undefined : { [name]: null }));
  }

  async clear(): Promise<void> {
    await this.#change((data) => Object.fromEntries(Object.keys(data).map((name) => [name, null])));
  }

  /** Writes the change of the data. Returns false if `change` returns undefined. */
  async #change(
    change: (data: Readonly<Record<string, string>>) => Readonly<Record<string, string | null>> | undefined,
  ): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      const secret = await this.#read();
      const data = change(dataOf(secret));
      if (data === undefined) return false;
      try {
        await this.#write(secret, data);
        return true;
      } catch (error) {
        const isConflict = error instanceof ApiError && error.status === 409;
        if (!isConflict || attempt >= ATTEMPTS) throw failureOf(error);
      }
    }
  }

  async #write(secret: SecretObject | undefined, data: Readonly<Record<string, string | null>>): Promise<void> {
    const { client, namespace } = this.#cluster;
    const options = { fieldManager: FIELD_MANAGER };
    if (secret) {
      const { resourceVersion } = secret.metadata;
      const patch = { metadata: { resourceVersion }, data };
      await client.mergePatch(RESOURCES.Secret, namespace, MANAGED_SECRET, patch, options);
      return;
    }
    const metadata = { name: MANAGED_SECRET, namespace, labels: LABELS };
    await client.create(RESOURCES.Secret, namespace, { apiVersion: 'v1', kind: 'Secret', metadata, data }, options);
  }

  async #read(): Promise<SecretObject | undefined> {
    const { client, namespace } = this.#cluster;
    try {
      return await client.get<SecretObject>(RESOURCES.Secret, namespace, MANAGED_SECRET);
    } catch (error) {
      throw failureOf(error);
    }
  }
}

const dataOf = (secret: SecretObject | undefined): Readonly<Record<string, string>> =>
  Object.assign(Object.create(null) as Record<string, string>, secret?.data);

const bytesOf = (data: Readonly<Record<string, string>>): number =>
  Object.values(data).reduce((sum, value) => sum + Buffer.byteLength(value, 'base64'), 0);

/** The message of the API server names objects and rights, no values. */
const failureOf = (error: unknown): unknown =>
  unavailableOf(error) ??
  (error instanceof ApiError
    ? new SecretsFailure(
        'unavailable',
        `the Secret ${MANAGED_SECRET} cannot be used (${error.message}): check the rights of vmcp`,
      )
    : error);

/** Provider outside of a cluster, which works for no secret. */
class NoCluster implements SecretsProvider {
  async setUp(): Promise<void> {
    throw new OperationError('no_cluster');
  }

  async get(): Promise<string | undefined> {
    throw new SecretsFailure(
      'unavailable',
      'the secrets provider cluster needs vmcp serve with "workloads": "kubernetes": set up another provider',
    );
  }
}
