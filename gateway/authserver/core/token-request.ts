import { accepted, refused, type Outcome } from './refusal.ts';
import type { RequestParameters } from './request-parameters.ts';

export const GRANT_TYPES = ['authorization_code', 'refresh_token'] as const;

export type GrantType = (typeof GRANT_TYPES)[number];

/** Reads the grant type, and rejects duplicated parameters, before the client is authenticated. @see RFC 6749 §5.2 */
export function grantTypeOf(parameters: RequestParameters): Outcome<GrantType> {
  if (parameters.duplicated.length > 0) return refused('parameter_duplicated');
  const named = parameters.one('grant_type');
  if (named === undefined) return refused('grant_type_missing');
  const known = GRANT_TYPES.find((type) => type === named);
  return known === undefined ? refused('grant_type_unknown') : accepted(known);
}

export interface CodeRequest {
  readonly code: string;
  readonly redirectUri: string | undefined;
  readonly codeVerifier: string | undefined;
  readonly resources: readonly string[];
}

/** Reads the parameters that redeem a code. @see RFC 6749 §4.1.3, RFC 7636 §4.5, RFC 8707 §2.2 */
export function readCodeRequest(parameters: RequestParameters): Outcome<CodeRequest> {
  const code = parameters.one('code');
  if (code === undefined) return refused('code_missing');
  return accepted({
    code,
    redirectUri: parameters.one('redirect_uri'),
    codeVerifier: parameters.one('code_verifier'),
    resources: parameters.all('resource'),
  });
}

export interface RefreshRequest {
  readonly refreshToken: string;
  readonly scope: string | undefined;
  readonly resources: readonly string[];
}

/** Reads the parameters of a refresh. @see RFC 6749 §6, RFC 8707 §2.2 */
export function readRefreshRequest(parameters: RequestParameters): Outcome<RefreshRequest> {
  const refreshToken = parameters.one('refresh_token');
  if (refreshToken === undefined) return refused('refresh_token_missing');
  return accepted({ refreshToken, scope: parameters.one('scope'), resources: parameters.all('resource') });
}
