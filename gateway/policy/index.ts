import { authorization } from './authorization.ts';
import { rateLimit } from './rate-limit/rate-limit.ts';
import { policyRegistry } from './registry.ts';

/** Every policy, in the order in which policies decide. A new one is one line here. */
export const POLICIES = [authorization, rateLimit] as const;

export const { createPolicies, policyMembers, policyProblems } = policyRegistry(POLICIES);
