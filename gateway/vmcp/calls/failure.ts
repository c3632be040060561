import type { Challenge, Deny, Failure } from '../../policy/policy.ts';
import type { Answer } from '../answers/answer.ts';
import type { BackendRuntime } from '../backends/backend.ts';
import { RETRY_AFTER_SECONDS, type Budget } from '../budgets/limits.ts';
import type { BackendFailure } from '../transport/channel.ts';

/** A call that a policy rejected or could not decide on, before it reached its backend. */
export type PolicyRefusal =
  | (Omit<Deny, 'verdict'> & { readonly kind: 'denied' })
  | (Omit<Challenge, 'verdict'> & { readonly kind: 'challenged' })
  | (Omit<Failure, 'verdict'> & { readonly kind: 'undecided' });

/** Converts a failure into the answer that the client's method defines. */
export type OnFailure = (
  answer: Answer,
  failure: BackendFailure | PolicyRefusal,
  backend: Pick<BackendRuntime, 'name' | 'timeoutMs'>,
) => void;

/** A reply that is longer than a policy allows. */
export const TOO_LONG: BackendFailure = { kind: 'too_large', detail: 'longer than a policy allows' };

/** Returns the failure of a call that exceeds a budget. */
export const overloaded = (budget: Budget): BackendFailure => ({
  kind: 'overloaded',
  detail: `over the budget of ${budget}`,
  retryAfterSeconds: RETRY_AFTER_SECONDS,
  budget,
});
