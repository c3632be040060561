import { authorization } from './authorization.ts';
import { rateLimit } from './rate-limit/rate-limit.ts';
import { policyRegistry } from './registry.ts';
import { mutatingWebhooks } from './webhook/mutating.ts';
import { validatingWebhooks } from './webhook/validating.ts';

/**
 * Every policy, in the order in which policies decide. A new one is one line here. Mutating webhooks come first: every
 * policy after them reads the arguments that the backend will receive. Validating webhooks come last: they are asked only
 * about calls that nothing else rejects.
 */
export const POLICIES = [mutatingWebhooks, authorization, rateLimit, validatingWebhooks] as const;

export const { createPolicies, policyMembers, policyProblems } = policyRegistry(POLICIES);
