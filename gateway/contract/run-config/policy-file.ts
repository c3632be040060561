import type { Problem } from '../problem.ts';

/** Member that names a file with policies, and the member that holds its document. */
export const POLICY_PATH = 'authz_config_path';
export const POLICY_MEMBER = 'authz_config';

/** A configuration with a policy, a policy file, or neither. */
export interface Policed {
  readonly [POLICY_PATH]?: unknown;
  readonly [POLICY_MEMBER]?: unknown;
}

/** Lists the problem of a configuration with both a policy and a policy file. */
export const policyFileConflicts = (config: Policed): Problem[] =>
  config[POLICY_PATH] === undefined || config[POLICY_MEMBER] === undefined
    ? []
    : [
        {
          reason: 'RuleViolated',
          path: POLICY_PATH,
          message: `set ${POLICY_MEMBER} or ${POLICY_PATH}, not both: remove one`,
        },
      ];

/** Moves a problem of the document to the path that names its file. Returns other problems unchanged. */
export function inPolicyFile(each: Problem, file: string): Problem {
  if (each.path !== POLICY_MEMBER && !each.path.startsWith(`${POLICY_MEMBER}.`)) return each;
  const place = each.path.slice(POLICY_MEMBER.length + 1);
  return { ...each, path: POLICY_PATH, message: `${file}: ${place === '' ? '' : `${place}: `}${each.message}` };
}
