import type { Mount } from '../../resolve/scope.ts';
import type { SecretsDir } from './secrets-dir.ts';

type ValueRef = Pick<Mount, 'kind' | 'namespace' | 'name' | 'key'>;

/** Values of Secrets, ConfigMaps and host variables for local mode. Printing the object shows no value. */
export interface SecretValues {
  /** Returns a value, or undefined when the key does not exist. Secrets in files take precedence over the secrets folder. */
  read(ref: ValueRef): Promise<Uint8Array | undefined>;
}

/** Values by `valueKey`. */
export type FileValues = ReadonlyMap<string, Uint8Array>;

export const valueKey = ({ kind, namespace, name, key }: ValueRef): string =>
  JSON.stringify([kind, namespace, name, key]);

export const secretValues = (values: FileValues, dir: SecretsDir | undefined): SecretValues => ({
  async read(ref) {
    const value = values.get(valueKey(ref));
    return value ?? (ref.kind === 'Secret' ? dir?.read(ref.name, ref.key) : undefined);
  },
});
