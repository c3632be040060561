import type { PolicyClient, PolicyClientOptions } from '../policy/policy.ts';
import type { Logger } from '../contract/logger.ts';
import { createOutbound } from './fetch.ts';
import { policyFor } from './policy.ts';

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
