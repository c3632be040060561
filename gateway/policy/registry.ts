import type { TSchema } from 'typebox';
import { Closed } from '../contract/fields.ts';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import type { Problem } from '../contract/problem.ts';
import { readDocument } from '../contract/run-config/document.ts';
import type { Policy, PolicyDeps } from './policy.ts';

/** A policy of any type. */
interface AnyPolicy {
  readonly type: string;
  readonly member: keyof GatewayConfig;
  readonly config: TSchema;
  create(config: never, deps: PolicyDeps): Policy;
  check?(config: never): Problem[];
}

/** Functions over a list of policies. The cast is safe: `policyProblems` has checked each member against its schema. */
export function policyRegistry(variants: readonly AnyPolicy[]) {
  /** Lists problems in the members that policies read. */
  const policyProblems = (config: GatewayConfig): Problem[] =>
    variants.flatMap((variant) => {
      const { member, config: schema } = variant;
      if (config[member] === undefined) return [];
      const read = readDocument(Closed({ [member]: schema }), { [member]: config[member] });
      if ('problems' in read) return read.problems;
      const found = variant.check?.(read.config[member] as never) ?? [];
      return found.map((problem) => ({ ...problem, path: below(member, problem.path) }));
    });

  /** Creates the policies that a configuration turns on, in the order of the registry. */
  const createPolicies = (config: GatewayConfig, deps: PolicyDeps): readonly Policy[] =>
    variants.flatMap((variant) =>
      config[variant.member] === undefined ? [] : [variant.create(config[variant.member] as never, deps)],
    );

  return { policyMembers: variants.map(({ member }): string => member), policyProblems, createPolicies };
}

const below = (member: string, path: string): string =>
  path === '' || path.startsWith('[') ? `${member}${path}` : `${member}.${path}`;
