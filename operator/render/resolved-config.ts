import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import type { Mount } from '../resolve/scope.ts';

/** Resolved configuration of a gateway, and the files that it refers to. */
export interface ResolvedConfig {
  readonly config: GatewayConfig;
  readonly mounts: readonly Mount[];
  /** Present when one pod alone can serve, although the resource has no number of pods. */
  readonly onePod?: string | undefined;
}

/**
 * Returns the number of pods to render; undefined leaves it to an autoscaler. Where one pod alone can serve, the operator
 * owns the number, and takes back what others set.
 */
export const podsOf = (
  replicas: number | undefined,
  { onePod }: Pick<ResolvedConfig, 'onePod'> = {},
): number | undefined => replicas ?? (onePod === undefined ? undefined : 1);
