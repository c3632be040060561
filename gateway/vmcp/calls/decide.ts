import { ALLOW, type Allow, type Decision, type Policy } from '../../policy/policy.ts';
import type { PolicedCall } from './policed-call.ts';

/** Combines the decisions of `policies` in order: at once unless a policy takes time. Each reads the arguments that an earlier one set. */
export function decide(policies: readonly Pick<Policy, 'decide'>[], call: PolicedCall): Decision | Promise<Decision> {
  let allowed = ALLOW;
  for (const [index, policy] of policies.entries()) {
    const decision = policy.decide(call);
    if (decision instanceof Promise) return decideRest(allowed, decision, policies.slice(index + 1), call);
    if (decision.verdict !== 'allow') return decision;
    allowed = combined(allowed, decision, call);
  }
  return allowed;
}

async function decideRest(
  before: Allow,
  pending: Promise<Decision>,
  rest: readonly Pick<Policy, 'decide'>[],
  call: PolicedCall,
): Promise<Decision> {
  const decision = await pending;
  if (decision.verdict !== 'allow') return decision;
  const allowed = combined(before, decision, call);
  if (call.isCancelled) return allowed; // nobody reads the decision
  const last = await decide(rest, call);
  return last.verdict === 'allow' ? narrower(allowed, last) : last;
}

/** Returns what both allow. The call takes the arguments of the later one. */
function combined(before: Allow, decision: Allow, call: PolicedCall): Allow {
  if (decision.arguments) call.replaceArguments(decision.arguments);
  return narrower(before, decision);
}

function narrower(one: Allow, other: Allow): Allow {
  const { maxReplyBytes: limit = Infinity } = one;
  return (other.maxReplyBytes ?? Infinity) < limit ? other : one;
}
