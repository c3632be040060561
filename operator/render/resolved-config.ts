import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import type { Mount } from '../resolve/scope.ts';

/** Resolved configuration of a gateway, and the files that it refers to. */
export interface ResolvedConfig {
  readonly config: GatewayConfig;
  readonly mounts: readonly Mount[];
}
