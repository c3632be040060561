import { Type, type Static } from 'typebox';
import { Closed } from '../../contract/fields.ts';
import { blocks, flag, text, whole } from '../../contract/optional.ts';
import { invalid, missing, problem, type Problem } from '../../contract/problem.ts';
import { urlProblems } from '../../contract/addresses.ts';
import { compileMatcher, MAX_MATCHER_LENGTH } from './matcher.ts';

/** AWS region, such as `eu-central-1`. */
export const REGION_PATTERN = '^[a-z]{2}(-[a-z]+)+-[0-9]+$';

/** Amazon Resource Name of an IAM role. */
const ROLE_ARN_PATTERN = '^arn:(aws|aws-cn|aws-us-gov):iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]+$';

export const ROLE_ARN = { pattern: ROLE_ARN_PATTERN, maxLength: 2048 };

/** Limits of `DurationSeconds`, AWS Security Token Service API Reference. */
export const DURATION = { minimum: 900, maximum: 43_200, default: 3_600 };

export const DEFAULTS = { service: 'aws-mcp', roleClaim: 'groups', sessionNameClaim: 'sub' };

/** `cloud_sts` in `vmcp.outgoing_auth`. */
export const cloudStsConfig = Closed({
  region: Type.String({ pattern: REGION_PATTERN, maxLength: 64, description: 'Region of AWS.' }),
  service: text('Service name that requests are signed for.', { minLength: 1, default: DEFAULTS.service }),
  fallback_role_arn: text('Role of users without a matching mapping.', ROLE_ARN),
  role_claim: text('Claim that mappings compare.', { minLength: 1, default: DEFAULTS.roleClaim }),
  role_mappings: blocks('Mappings of claims to roles. The matching one with the lowest priority applies.', {
    claim: text('Value that the role claim must have.', { minLength: 1 }),
    matcher: text('CEL expression over `claims` that must be true. Excludes `claim`.', {
      minLength: 1,
      maxLength: MAX_MATCHER_LENGTH,
    }),
    role_arn: Type.String({ ...ROLE_ARN, description: 'Role.' }),
    priority: whole('Priority. Lower numbers come first; a mapping without one comes last.', { minimum: 0 }),
  }),
  session_duration: whole('Lifetime of the credentials in seconds.', DURATION),
  session_name_claim: text('Claim that names the session.', { minLength: 1, default: DEFAULTS.sessionNameClaim }),
  subject_provider_name: text('Upstream provider whose stored token is the subject. Defaults to the client’s token.'),
  sts_endpoint: text('URL of the Security Token Service. Defaults to the public one of the region.', { minLength: 1 }),
  allow_private_ips: flag('Allow the endpoint to resolve to a private address.'),
  insecure_allow_http: flag('Allow http URLs for the endpoint.'),
});

export type CloudStsConfig = Static<typeof cloudStsConfig>;

/** Lists problems of a configuration that the schema cannot find. */
export function cloudStsProblems(config: CloudStsConfig): Problem[] {
  const { sts_endpoint: endpoint, fallback_role_arn: fallback, role_mappings: mappings = [] } = config;
  return [
    ...(endpoint === undefined ? [] : urlProblems(endpoint, 'sts_endpoint', config.insecure_allow_http === true)),
    ...(fallback === undefined && mappings.length === 0
      ? [missing('fallback_role_arn', 'no user has a role: set it, or role_mappings')]
      : []),
    ...mappings.flatMap((mapping, index) => mappingProblems(mapping, `role_mappings[${String(index)}]`)),
  ];
}

type Mapping = NonNullable<CloudStsConfig['role_mappings']>[number];

function mappingProblems({ claim, matcher }: Mapping, path: string): Problem[] {
  if (matcher === undefined) {
    const message = 'set the value that the role claim must have, or matcher';
    return claim === undefined ? [missing(`${path}.claim`, message)] : [];
  }
  if (claim !== undefined) return [problem('RuleViolated', path, 'set exactly one of claim and matcher')];
  const compiled = compileMatcher(matcher);
  return 'fault' in compiled ? [invalid(`${path}.matcher`, compiled.fault)] : [];
}

/** Returns the URL of the Security Token Service, by default the public one of the region. */
export function stsEndpoint({ region, sts_endpoint: endpoint }: CloudStsConfig): string {
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  return endpoint ?? `https://sts.${region}.${domain}`;
}
