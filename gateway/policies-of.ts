import { randomUUID } from 'node:crypto';
import type { GatewayConfig } from './contract/gateway-config.ts';
import { withFields, type Logger } from './contract/logger.ts';
import { createPolicyClient } from './outbound/policy-client.ts';
import { createPolicies } from './policy/index.ts';
import type { Policy, PolicyDeps } from './policy/policy.ts';

/** Services of the process that policies use. */
export interface PolicyServices extends Pick<
  PolicyDeps,
  'now' | 'readSecret' | 'observeWebhook' | 'buckets' | 'rateLimits'
> {
  readonly log: Logger;
}

/** Creates the policies of one virtual server, in the order in which they decide. */
export function policiesOf(config: GatewayConfig, { log, ...services }: PolicyServices): readonly Policy[] {
  const own = withFields(log, { server: config.name });
  return createPolicies(config, {
    ...services,
    server: config.name ?? '',
    namespace: config.vmcp.namespace,
    maxToolNameLength: config.vmcp.aggregation.max_tool_name_length,
    newId: randomUUID,
    log: own,
    createClient: (options) => createPolicyClient(options, own),
  });
}
