import { RESOURCES, type KubeObject } from '../../../gateway/kube/resource.ts';
import type { RenderOptions } from '../options.ts';
import { ownedObject, type Owned } from '../owned.ts';

/** Renders a budget for several replicas: a drain evicts pods one after another. A pod that is not ready never blocks a drain. */
export const podDisruptionBudget = (
  owned: Owned,
  name: string,
  replicas: number | undefined,
  { podDisruptionBudgets }: RenderOptions,
): KubeObject[] =>
  podDisruptionBudgets && (replicas ?? 1) > 1
    ? [
        ownedObject(owned, RESOURCES.PodDisruptionBudget, name, {
          spec: {
            maxUnavailable: 1,
            selector: { matchLabels: owned.selector },
            unhealthyPodEvictionPolicy: 'AlwaysAllow',
          },
        }),
      ]
    : [];
