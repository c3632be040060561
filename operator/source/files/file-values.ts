import type { Mount } from '../../resolve/scope.ts';
import type { SecretsDir } from './secrets-dir.ts';

type ValueRef = Pick<Mount, 'kind' | 'namespace' | 'name' | 'key'>;

/** The values of Secrets and ConfigMaps, which nothing but the local target reads. Printing it shows no value. */
export interface SecretValues {
  /** A Secret in the files wins over the secrets folder, key by key; undefined when nobody has the key. */
  read(ref: ValueRef): Promise<Uint8Array | undefined>;
}

/** Values by the text of `valueKey`. */
export type FileValues = ReadonlyMap<string, Uint8Array>;

export const valueKey = ({ kind, namespace, name, key }: ValueRef): string =>
  JSON.stringify([kind, namespace, name, key]);

export const secretValues = (values: FileValues, dir: SecretsDir | undefined): SecretValues => ({
  async read(ref) {
    const value = values.get(valueKey(ref));
    return value ?? (ref.kind === 'Secret' ? dir?.read(ref.name, ref.key) : undefined);
  },
});
