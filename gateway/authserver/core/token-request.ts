import { accepted, refused, type Outcome } from './refusal.ts';
import type { RequestParameters } from './request-parameters.ts';

/** Grants of a login, which every client may register. */
export const LOGIN_GRANT_TYPES = ['authorization_code', 'refresh_token'] as const;

/** @see RFC 8693 §2.1 */
export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** @see RFC 7523 §2.1 */
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

export type GrantType = (typeof LOGIN_GRANT_TYPES)[number] | typeof TOKEN_EXCHANGE | typeof JWT_BEARER;

/** Reads the grant type, and rejects duplicated parameters, before the client is authenticated. @see RFC 6749 §5.2 */
export function grantTypeOf(parameters: RequestParameters, supported: readonly GrantType[]): Outcome<GrantType> {
  if (parameters.duplicated.length > 0) return refused('parameter_duplicated');
  const named = parameters.one('grant_type');
  if (named === undefined) return refused('grant_type_missing');
  const known = supported.find((type) => type === named);
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
