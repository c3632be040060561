import { ALLOW, type Allow, type Decision, type Policy } from '../../policy/policy.ts';
import type { PolicedCall } from './policed-call.ts';

/** The part of a policy that decides on calls. */
export type Judge = Pick<Policy, 'decide' | 'readsArguments'>;

/**
 * Combines the decisions of `policies` in order: at once unless a policy takes time. After one that replaces the arguments,
 * the earlier ones that read arguments decide again.
 */
export function decide(policies: readonly Judge[], call: PolicedCall): Decision | Promise<Decision> {
  let allowed = ALLOW;
  for (const [index, policy] of policies.entries()) {
    const decision = policy.decide(call);
    if (decision instanceof Promise || (decision.verdict === 'allow' && decision.arguments))
      return decideRest(allowed, decision, policies, index, call);
    if (decision.verdict !== 'allow') return decision;
    allowed = narrower(allowed, decision);
  }
  return allowed;
}

async function decideRest(
  before: Allow,
  pending: Decision | Promise<Decision>,
  policies: readonly Judge[],
  index: number,
  call: PolicedCall,
): Promise<Decision> {
  const decision = await pending;
  if (decision.verdict !== 'allow') return decision;
  const allowed = narrower(before, decision);
  if (call.isCancelled) return allowed; // nobody reads the decision
  const later = policies.slice(index + 1);
  if (!decision.arguments) return combined(allowed, await decide(later, call));
  call.replaceArguments(decision.arguments);
  const again = policies.slice(0, index).filter(({ readsArguments }) => readsArguments);
  return combined(allowed, await decide([...again, ...later], call));
}

const combined = (allowed: Allow, last: Decision): Decision =>
  last.verdict === 'allow' ? narrower(allowed, last) : last;

function narrower(one: Allow, other: Allow): Allow {
  const { maxReplyBytes: limit = Infinity } = one;
  return (other.maxReplyBytes ?? Infinity) < limit ? other : one;
}
