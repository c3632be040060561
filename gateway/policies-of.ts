import { randomUUID } from 'node:crypto';
import type { GatewayConfig } from './contract/gateway-config.ts';
import { withFields, type Logger } from './contract/logger.ts';
import { createPolicies } from './policy/index.ts';
import type { Policy, PolicyDeps, PolicyClient, PolicyClientOptions } from './policy/policy.ts';
import { createOutbound } from './outbound/fetch.ts';
import { policyFor } from './outbound/policy.ts';

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

/**
 * Creates a client with one guard of its own. Redirects are replies. It needs no `close`: running requests end with
 * their calls, and an idle connection ends after some seconds and does not keep the process alive.
 */
export function createPolicyClient(options: PolicyClientOptions, log: Pick<Logger, 'warn'>): PolicyClient {
  const { url, caFile, certFile, keyFile, insecureSkipVerify } = options;
  const policy = policyFor(url, options);
  const guard = createOutbound({ policy, configuredUrl: url, caFile, certFile, keyFile, insecureSkipVerify, log });
  return async ({ headers, body, maxReplyBytes: maxBytes, timeoutMs, signal }) => {
    const headersTimeoutMs = timeoutMs; // a webhook may think until the end of its time
    const reply = await guard.request({
      url,
      method: 'POST',
      headers,
      body,
      maxBytes,
      timeoutMs,
      headersTimeoutMs,
      signal,
    });
    return { status: reply.status, body: reply.body };
  };
}
