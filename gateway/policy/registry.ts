import type { TSchema } from 'typebox';
import { Closed } from '../contract/fields.ts';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import type { Problem } from '../contract/problem.ts';
import { readDocument } from '../contract/run-config/document.ts';
import type { Policy, PolicyDeps, PolicyFacts } from './policy.ts';

/** A policy of any type. */
interface AnyPolicy {
  readonly type: string;
  readonly member: keyof GatewayConfig;
  readonly alsoReads?: readonly (keyof GatewayConfig)[];
  readonly config: TSchema;
  readonly needsUsers?: true;
  check?(config: never, facts: PolicyFacts): Problem[];
  create(config: never, deps: PolicyDeps): Policy;
}

/** Functions over a list of policies. The cast is safe: `policyProblems` has checked each member against its schema. */
export function policyRegistry(variants: readonly AnyPolicy[]) {
  /** Lists problems in the members that policies read. */
  const policyProblems = (config: Partial<GatewayConfig>, facts: PolicyFacts): Problem[] =>
    variants.flatMap((variant) => {
      const { member, needsUsers } = variant;
      if (config[member] === undefined) return [];
      const read = readDocument(Closed({ [member]: variant.config }), { [member]: config[member] });
      const found =
        'problems' in read
          ? read.problems
          : (variant.check?.(read.config[member] as never, facts) ?? []).map((problem) => ({
              ...problem,
              path: below(member, problem.path),
            }));
      return needsUsers === true && !facts.hasUsers ? [...found, anonymousProblem(member, facts)] : found;
    });

  /** Returns the members that have an effect in this configuration because a policy reads them. */
  const policyMembers = (config: GatewayConfig): string[] =>
    variants.flatMap(({ member, alsoReads = [] }) => (config[member] === undefined ? [] : [member, ...alsoReads]));

  /** Creates the policies that a configuration turns on, in the order of the registry. */
  const createPolicies = (config: GatewayConfig, deps: PolicyDeps): readonly Policy[] =>
    variants.flatMap((variant) =>
      config[variant.member] === undefined ? [] : [variant.create(config[variant.member] as never, deps)],
    );

  return { policyMembers, policyProblems, createPolicies };
}

/** Problem of a policy that decides by user while clients are anonymous. */
export const anonymousProblem = (path: string, { loginSetting }: Pick<PolicyFacts, 'loginSetting'>): Problem => ({
  reason: 'RuleViolated',
  path,
  message: `anonymous clients have no user that a policy could decide on: set ${loginSetting}, or remove this`,
});

const below = (member: string, path: string): string =>
  path === '' || path.startsWith('[') ? `${member}${path}` : `${member}.${path}`;
