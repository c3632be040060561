import { authorization } from './authorization.ts';
import { rateLimit } from './rate-limit/rate-limit.ts';
import { policyRegistry } from './registry.ts';
import { mutatingWebhooks } from './webhook/mutating.ts';
import { validatingWebhooks } from './webhook/validating.ts';

/**
 * Every policy, in the order in which policies decide. A new one is one line here. Webhooks come last: they are asked only
 * about calls that nothing else rejects. Validating ones read the arguments that the backend will receive.
 */
export const POLICIES = [authorization, rateLimit, mutatingWebhooks, validatingWebhooks] as const;

export const { createPolicies, policyMembers, policyProblems } = policyRegistry(POLICIES);
