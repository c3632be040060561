import type { Problem } from '../../../contract/problem.ts';
import type { OidcProviderConfig } from '../../../contract/run-config/upstreams.ts';
import { dcrProblems } from './dcr-config.ts';
import { commonProblems } from './provider-config.ts';
import { urlProblems } from '../../../contract/url-problems.ts';
import { userInfoProblems } from './userinfo-config.ts';

export const CLAIM_PATTERN = '^([a-zA-Z_][a-zA-Z0-9_]*)?$';

export function scopeProblems(scopes: readonly string[] | undefined): Problem[] {
  if (scopes === undefined || scopes.includes('openid')) return [];
  const message = 'an OpenID provider returns no ID token without the scope openid: add it, or use type oauth2';
  return [{ reason: 'InvalidValue', path: 'scopes', message }];
}

/** Lists the problems that the schema cannot express. */
export function oidcProblems(given: OidcProviderConfig): Problem[] {
  const { issuer_url: issuer, subject_claim: claim, userinfo_override: override } = given;
  const insecure = given.insecure_allow_http === true;
  const problem = (reason: string, path: string, message: string): Problem => ({ reason, path, message });
  return [
    ...(issuer === undefined
      ? [problem('MissingField', 'issuer_url', 'set issuer_url')]
      : urlProblems(issuer, 'issuer_url', insecure)),
    ...(issuer?.includes('?') === true
      ? [problem('InvalidUrl', 'issuer_url', 'an issuer has no query: remove the ? and everything after it')]
      : []),
    ...commonProblems(given, given.dcr_config !== undefined),
    ...dcrProblems(given, true),
    ...scopeProblems(given.scopes),
    ...(claim !== undefined && !new RegExp(CLAIM_PATTERN, 'u').test(claim)
      ? [problem('InvalidValue', 'subject_claim', 'a claim name has letters, digits and underscores only')]
      : []),
    ...(override ? userInfoProblems(override, insecure) : []).map((found) => ({
      ...found,
      path: `userinfo_override.${found.path}`,
    })),
  ];
}
