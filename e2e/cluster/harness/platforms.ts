import { bareNode } from './bare-node.ts';
import { kindCluster } from './kind.ts';
import type { Platform, PlatformName } from './platform.ts';

const PLATFORMS: Readonly<Record<PlatformName, () => Platform>> = { node: bareNode, kind: kindCluster };

/** @throws Error for a name that is no platform */
export function platformNamed(name: string): Platform {
  if (name !== 'node' && name !== 'kind') throw new Error(`E2E_CLUSTER is node or kind, not ${name}`);
  return PLATFORMS[name]();
}
