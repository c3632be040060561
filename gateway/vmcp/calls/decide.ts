import { ALLOW, type Allow, type Decision, type Policy, type PolicyCall } from '../../policy/policy.ts';

/** Combines the decisions of `policies` in order: at once unless a policy takes time. */
export function decide(policies: readonly Pick<Policy, 'decide'>[], call: PolicyCall): Decision | Promise<Decision> {
  let allowed = ALLOW;
  for (const [index, policy] of policies.entries()) {
    const decision = policy.decide(call);
    if (decision instanceof Promise) return decideRest(allowed, decision, policies.slice(index + 1), call);
    if (decision.verdict !== 'allow') return decision;
    allowed = narrower(allowed, decision);
  }
  return allowed;
}

async function decideRest(
  before: Allow,
  pending: Promise<Decision>,
  rest: readonly Pick<Policy, 'decide'>[],
  call: PolicyCall,
): Promise<Decision> {
  const decision = await pending;
  if (decision.verdict !== 'allow') return decision;
  const last = await decide(rest, call);
  return last.verdict === 'allow' ? narrower(narrower(before, decision), last) : last;
}

function narrower(one: Allow, other: Allow): Allow {
  const { maxReplyBytes: limit = Infinity } = one;
  return (other.maxReplyBytes ?? Infinity) < limit ? other : one;
}
