import type { Mount } from '../resolve/scope.ts';
import { compareText } from '../resolve/snapshot.ts';
import type { GatewayVolume } from './gateway-container.ts';
import type { JsonObject } from './json.ts';
import { CLUSTER_PLATFORM } from './options.ts';

/** Readable by the group of the pod. */
const GROUP_READABLE = 0o440;

/**
 * One volume for all keys of Secrets, one for those of ConfigMaps, each key at `<object>/<key>`. Whole folders: a file
 * that is mounted by itself never changes again.
 */
export const mountedFiles = (mounts: readonly Mount[]): readonly GatewayVolume[] => [
  ...volumeOf('Secret', mounts, 'secrets', CLUSTER_PLATFORM.secretsDir),
  ...volumeOf('ConfigMap', mounts, 'configmaps', CLUSTER_PLATFORM.configMapsDir),
];

function volumeOf(kind: Mount['kind'], mounts: readonly Mount[], name: string, mountPath: string): GatewayVolume[] {
  const keysOf = new Map<string, Set<string>>();
  for (const mount of mounts.filter((each) => each.kind === kind)) {
    keysOf.set(mount.name, (keysOf.get(mount.name) ?? new Set()).add(mount.key));
  }
  if (keysOf.size === 0) return [];
  const member = kind === 'Secret' ? 'secret' : 'configMap';
  const sources = [...keysOf]
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([object, keys]): JsonObject => ({ [member]: { items: itemsOf(object, keys), name: object } }));
  return [{ volume: { name, projected: { defaultMode: GROUP_READABLE, sources } }, mountPath }];
}

const itemsOf = (object: string, keys: ReadonlySet<string>): JsonObject[] =>
  [...keys].toSorted(compareText).map((key) => ({ key, path: `${object}/${key}` }));
