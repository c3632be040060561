import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import type { Scope } from './scope.ts';
import { replicasShareStore } from './session-storage.ts';

/** Resolves the rate limits. Their buckets are in the store of the sessions. */
export function resolveRateLimits(scope: Scope): Pick<GatewayConfig, 'rate_limit_config'> {
  const limits = scope.vmcp.spec.config?.rateLimiting;
  if (!limits) return {};
  checkReplicas(scope);
  return { rate_limit_config: limits };
}

/** Several pods need a common store. Without `replicas` an autoscaler may start several. */
function checkReplicas(scope: Scope): void {
  const { replicas } = scope.vmcp.spec;
  if (scope.platform.mode === 'local' || (replicas ?? 2) <= 1 || replicasShareStore(scope.vmcp.spec)) return;
  const count = replicas === undefined ? 'an autoscaler may start several pods' : `there are ${String(replicas)} pods`;
  const message = `${count}, and each would allow the whole limit: set sessionStorage to a kvstore, or replicas: 1`;
  scope.on(scope.vmcp).problem('RateLimitingRequiresKvstore', 'spec.config.rateLimiting', message);
}
