import { policyRegistry } from './registry.ts';
import { mutatingWebhooks } from './webhook/mutating.ts';
import { validatingWebhooks } from './webhook/validating.ts';

/**
 * Every policy, in the order in which policies decide. A new one is one line here. Mutating webhooks come first: every
 * policy after them reads the arguments that the backend will receive.
 */
export const POLICIES = [mutatingWebhooks, validatingWebhooks] as const;

export const { createPolicies, policyMembers, policyProblems } = policyRegistry(POLICIES);
