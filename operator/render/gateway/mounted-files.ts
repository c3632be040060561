import type { Mount } from '../../resolve/scope.ts';
import { compareText } from '../../resolve/snapshot.ts';
import type { GatewayVolume } from './container.ts';
import { CLUSTER_PLATFORM } from '../options.ts';
import type { JsonObject } from '../../../gateway/contract/json.ts';

/** File mode: readable by the pod's group. */
const GROUP_READABLE = 0o440;
/** File mode in a volume of one container, whose user is not in a group of the pod. */
const READABLE = 0o444;

/** Place of the volumes: a pod of the gateway alone, or one container beside a server with volumes of its own. */
export interface Placing {
  readonly prefix: string;
  readonly mode: number;
}

const ALONE: Placing = { prefix: '', mode: GROUP_READABLE };
export const BESIDE_SERVER: Placing = { prefix: 'vmcp-', mode: READABLE };

/**
 * Renders one volume for all keys of Secrets and one for those of ConfigMaps, each key at `<object>/<key>`. They are
 * mounted as folders: Kubernetes does not update a file that is mounted by itself (`subPath`).
 */
export const mountedFiles = (mounts: readonly Mount[], placing = ALONE): readonly GatewayVolume[] => [
  ...volumeOf('Secret', mounts, { ...placing, name: 'secrets', mountPath: CLUSTER_PLATFORM.secretsDir }),
  ...volumeOf('ConfigMap', mounts, { ...placing, name: 'configmaps', mountPath: CLUSTER_PLATFORM.configMapsDir }),
];

function volumeOf(
  kind: Mount['kind'],
  mounts: readonly Mount[],
  { prefix, mode, name, mountPath }: Placing & { readonly name: string; readonly mountPath: string },
): GatewayVolume[] {
  const ofKind = mounts.filter((each) => each.kind === kind);
  if (ofKind.length === 0) return [];
  const objects = [...new Set(ofKind.map((each) => each.name))].toSorted(compareText);
  const sources = objects.flatMap((object) => sourcesOf(ofKind.filter((each) => each.name === object)));
  return [{ volume: { name: `${prefix}${name}`, projected: { defaultMode: mode, sources } }, mountPath }];
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
