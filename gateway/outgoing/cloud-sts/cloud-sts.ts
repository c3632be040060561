import { Type } from 'typebox';
import { Closed, DnsLabel } from '../../contract/fields.ts';
import type { Identity } from '../../contract/identity.ts';
import { ATOMIC, blocks, flag, text, whole } from '../../contract/optional.ts';
import { at, exactlyOne, rule, safeUrl } from '../../contract/rule.ts';
import { CredentialError, SIGN, type Authenticator, type StrategyDeps } from '../authenticator.ts';
import { defineStrategy } from '../strategy.ts';
import { requireCaller, unknownProviderProblem, getUpstreamToken } from '../upstream-subject.ts';
import { assumeRole } from './assume-role.ts';
import { SigningCredentialCache, type CredentialOwner, type SigningCredential } from './cache.ts';
import {
  cloudStsConfig,
  cloudStsProblems,
  DEFAULTS,
  DURATION,
  REGION_PATTERN,
  ROLE_ARN,
  type CloudStsConfig,
} from './config.ts';
import { compileMatcher, MAX_MATCHER_LENGTH } from './matcher.ts';
import { createRoleFinder, sessionNameOf } from './role.ts';

const name = { minLength: 1, maxLength: 256 };

const roleMapping = {
  claim: text('Value that the role claim must have. Excludes `matcher`.', name),
  matcher: text('CEL expression over `claims` that must be true, such as `"ops" in claims.groups`. Excludes `claim`.', {
    minLength: 1,
    maxLength: MAX_MATCHER_LENGTH,
  }),
  roleArn: Type.String({ ...ROLE_ARN, description: 'Role of users with this value.' }),
  priority: whole('Priority. Lower numbers come first. A mapping without one comes last.', {
    minimum: 0,
    maximum: 2_147_483_647,
  }),
};

const spec = Closed(
  {
    region: Type.String({ pattern: REGION_PATTERN, maxLength: 64, description: 'Region of AWS.' }),
    service: text('Service name that requests are signed for.', { ...name, default: DEFAULTS.service }),
    fallbackRoleArn: text('Role of users without a matching mapping. When absent, their calls are rejected.', ROLE_ARN),
    roleClaim: text('Claim of the user’s token that mappings compare: a string or a list of strings.', {
      ...name,
      default: DEFAULTS.roleClaim,
    }),
    roleMappings: blocks(
      'Mappings of claims to roles. The matching one with the lowest priority applies.',
      roleMapping,
      {
        maxItems: 64,
        ...ATOMIC,
      },
    ),
    sessionDuration: whole('Lifetime of the credentials in seconds.', DURATION),
    sessionNameClaim: text('Claim of the user’s token that names the session in the audit log of AWS.', {
      ...name,
      default: DEFAULTS.sessionNameClaim,
    }),
    subjectProviderName: Type.Optional(
      DnsLabel(
        'Upstream provider whose stored token is presented to AWS: its ID token, or its access token without one. When absent, the token of the client is presented.',
      ),
    ),
    stsEndpoint: text('URL of the Security Token Service. Defaults to the public one of the region.', {
      pattern: '^https?://[^\\s]+$',
      maxLength: 2048,
    }),
    allowPrivateIPs: flag('Allow the endpoint to resolve to a private address.'),
    insecureAllowHTTP: flag('Allow http URLs for the endpoint.'),
  },
  { description: 'Set when `type` is `cloudSts`.' },
);

/**
 * Exchanges the user's token for temporary credentials of an AWS role and signs each request with them. The token
 * leaves the process only for the Security Token Service.
 */
export const cloudSts = defineStrategy({
  type: 'cloudSts',
  description: 'The token is exchanged for credentials of an AWS role, and each request is signed (SigV4).',
  perUser: true,
  signs: true,
  spec,
  rules: [
    safeUrl('', 'stsEndpoint'),
    rule<{ readonly fallbackRoleArn?: string; readonly roleMappings?: readonly unknown[] }>('', {
      field: 'fallbackRoleArn',
      rule: 'has(self.fallbackRoleArn) || (has(self.roleMappings) && size(self.roleMappings) > 0)',
      message: 'set fallbackRoleArn or roleMappings',
      check: ({ fallbackRoleArn, roleMappings = [] }) => fallbackRoleArn !== undefined || roleMappings.length > 0,
    }),
    ...at('roleMappings[]', [exactlyOne('', 'claim', 'matcher')]),
  ],
  config: cloudStsConfig,
  resolve(given, scope) {
    const { subjectProviderName: provider, stsEndpoint, roleMappings } = given;
    if (stsEndpoint !== undefined) scope.checkUrl(stsEndpoint, 'stsEndpoint', given);
    if (provider !== undefined && !scope.upstreams.has(provider))
      scope.problem(unknownProviderProblem(provider, 'subjectProviderName', scope));
    roleMappings?.forEach(({ matcher }, index) => {
      const compiled = matcher === undefined ? undefined : compileMatcher(matcher);
      if (compiled && 'fault' in compiled)
        scope.problem({
          reason: 'InvalidValue',
          path: `roleMappings[${String(index)}].matcher`,
          message: compiled.fault,
        });
    });
    return {
      region: given.region,
      ...(given.service !== undefined && { service: given.service }),
      ...(given.fallbackRoleArn !== undefined && { fallback_role_arn: given.fallbackRoleArn }),
      ...(given.roleClaim !== undefined && { role_claim: given.roleClaim }),
      ...(roleMappings && {
        role_mappings: roleMappings.map(({ roleArn, ...rest }) => ({ ...rest, role_arn: roleArn })),
      }),
      ...(given.sessionDuration !== undefined && { session_duration: given.sessionDuration }),
      ...(given.sessionNameClaim !== undefined && { session_name_claim: given.sessionNameClaim }),
      ...(provider !== undefined && { subject_provider_name: provider }),
      ...(stsEndpoint !== undefined && { sts_endpoint: stsEndpoint }),
      ...(given.allowPrivateIPs && { allow_private_ips: true }),
      ...(given.insecureAllowHTTP && { insecure_allow_http: true }),
    };
  },
  check: cloudStsProblems,
  create: roleAssumer,
});

function roleAssumer(settings: CloudStsConfig, deps: StrategyDeps): Authenticator {
  const { subject_provider_name: provider } = settings;
  const cache = new SigningCredentialCache(deps.now);
  const roleOf = createRoleFinder(settings);
  const ownerOf = (caller: Identity): CredentialOwner => credentialOwner(caller, roleOf(caller.claims), settings, deps);
  return {
    perUser: true,
    rejectedBy403: true,
    ...(provider !== undefined && { provider }),
    headers(given) {
      const caller = requireCaller(given, deps);
      const owner = ownerOf(caller);
      return cache.get(owner, () => obtain(caller, owner, settings, deps));
    },
    refused: (caller, sent) => caller !== undefined && cache.refuse(ownerOf(caller), sent),
  };
}

/** Returns the user with the role. Throws `CredentialError` for a user without one. */
function credentialOwner(
  { principal, tsid, claims }: Identity,
  role: string | undefined,
  settings: CloudStsConfig,
  { backend }: StrategyDeps,
): CredentialOwner {
  if (role === undefined) throw new CredentialError('forbidden', `the user has no role for backend "${backend}"`);
  const sessionName = sessionNameOf(claims, settings);
  if (sessionName !== undefined) return { principal, tsid, role, sessionName };
  const claim = settings.session_name_claim ?? DEFAULTS.sessionNameClaim;
  const message = `the user's token has no text in claim "${claim}": set session_name_claim to a claim that it has`;
  throw new CredentialError('misconfigured', message);
}

async function obtain(
  caller: Identity,
  { role, sessionName }: CredentialOwner,
  settings: CloudStsConfig,
  deps: StrategyDeps,
): Promise<SigningCredential> {
  const { region, service = DEFAULTS.service, subject_provider_name: provider } = settings;
  const { requestSigner } = await import('./signer.ts'); // on demand: few gateways sign
  const token = await subjectOf(caller, provider, deps);
  const credentials = await assumeRole({ role, sessionName, token, provider }, settings, deps);
  const headers = Object.freeze({ [SIGN]: requestSigner(credentials, { region, service }, deps.now) });
  return { headers, expiresAt: credentials.expiresAt };
}

/** Returns the token for AWS. Of a provider's tokens the ID token comes first, as AWS accepts JWTs only. */
async function subjectOf(caller: Identity, provider: string | undefined, deps: StrategyDeps): Promise<string> {
  if (provider === undefined) return caller.token.reveal();
  const { idToken, idTokenExpiresAt, accessToken } = await getUpstreamToken(caller, provider, deps, { idToken: true });
  if (!idToken) return accessToken.reveal();
  if (idTokenExpiresAt === undefined || idTokenExpiresAt > deps.now()) return idToken.reveal();
  throw new CredentialError('reauthenticate', `provider "${provider}" left no ID token that is still valid`, provider);
}
