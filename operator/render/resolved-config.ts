import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import type { Mount } from '../resolve/scope.ts';

/** Resolved configuration of a gateway, and the files that it refers to. */
export interface ResolvedConfig {
  readonly config: GatewayConfig;
  readonly mounts: readonly Mount[];
  /** Present when only a single pod can serve, although the resource sets no number of pods. */
  readonly onePod?: string | undefined;
}

/**
 * Returns the number of pods to render; undefined leaves it to an autoscaler. Where only a single pod can serve, the
 * operator owns the number, and reverts changes by others.
 */
export const podsOf = (
  replicas: number | undefined,
  { onePod }: Pick<ResolvedConfig, 'onePod'> = {},
): number | undefined => replicas ?? (onePod === undefined ? undefined : 1);
