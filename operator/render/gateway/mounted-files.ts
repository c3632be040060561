import type { Mount } from '../../resolve/scope.ts';
import { compareText } from '../../resolve/snapshot.ts';
import type { GatewayVolume } from './container.ts';
import { CLUSTER_PLATFORM } from '../options.ts';
import type { JsonObject } from '../../../gateway/contract/json.ts';

/** File mode: readable by the pod's group. */
const GROUP_READABLE = 0o440;

/**
 * Renders one volume for all keys of Secrets and one for those of ConfigMaps, each key at `<object>/<key>`. They are
 * mounted as folders: Kubernetes does not update a file that is mounted by itself (`subPath`).
 */
export const mountedFiles = (mounts: readonly Mount[]): readonly GatewayVolume[] => [
  ...volumeOf('Secret', mounts, 'secrets', CLUSTER_PLATFORM.secretsDir),
  ...volumeOf('ConfigMap', mounts, 'configmaps', CLUSTER_PLATFORM.configMapsDir),
];

function volumeOf(kind: Mount['kind'], mounts: readonly Mount[], name: string, mountPath: string): GatewayVolume[] {
  const ofKind = mounts.filter((each) => each.kind === kind);
  if (ofKind.length === 0) return [];
  const objects = [...new Set(ofKind.map((each) => each.name))].toSorted(compareText);
  const sources = objects.flatMap((object) => sourcesOf(ofKind.filter((each) => each.name === object)));
  return [{ volume: { name, projected: { defaultMode: GROUP_READABLE, sources } }, mountPath }];
}

/** Lists the keys of one object: first the required ones, without which a pod does not start, then the optional ones. */
function sourcesOf(mounts: readonly Mount[]): JsonObject[] {
  const parts = [mounts.filter((each) => each.optional !== true), mounts.filter((each) => each.optional === true)];
  return parts.flatMap(([first, ...others]) => {
    if (!first) return [];
    const keys = [...new Set([first, ...others].map(({ key }) => key))].toSorted(compareText);
    const items = keys.map((key) => ({ key, path: `${first.name}/${key}` }));
    const source = { items, name: first.name, ...(first.optional && { optional: true }) };
    return [{ [first.kind === 'Secret' ? 'secret' : 'configMap']: source }];
  });
}
