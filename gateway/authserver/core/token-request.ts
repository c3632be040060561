import { accepted, refused, type Outcome } from './refusal.ts';
import type { RequestParameters } from './request-parameters.ts';

interface CodeRequest {
  readonly grantType: 'authorization_code';
  readonly code: string;
  readonly redirectUri: string | undefined;
  readonly codeVerifier: string | undefined;
  readonly resources: readonly string[];
}

interface RefreshRequest {
  readonly grantType: 'refresh_token';
  readonly refreshToken: string;
  readonly scope: string | undefined;
  readonly resources: readonly string[];
}

/** What the token endpoint is asked for. Who asks is for client authentication. */
export type TokenRequest = CodeRequest | RefreshRequest;

export const GRANT_TYPES = ['authorization_code', 'refresh_token'] as const;

type GrantType = (typeof GRANT_TYPES)[number];

/** Whether the form can be read at all, and for which grant: before the client is authenticated. @see RFC 6749 §5.2 */
export function grantTypeOf(asked: RequestParameters): Outcome<GrantType> {
  if (asked.duplicated.length > 0) return refused('parameter_duplicated');
  const named = asked.one('grant_type');
  if (named === undefined) return refused('grant_type_missing');
  const known = GRANT_TYPES.find((type) => type === named);
  return known === undefined ? refused('grant_type_unknown') : accepted(known);
}

/** The request of an authenticated client. @see RFC 6749 §4.1.3, §6; RFC 8707 §2.2 */
export function readTokenRequest(
  asked: RequestParameters,
  client: { readonly grant_types: readonly string[] },
): Outcome<TokenRequest> {
  const grantType = grantTypeOf(asked);
  if (!grantType.ok) return grantType;
  if (!client.grant_types.includes(grantType.value)) return refused('grant_type_unregistered');
  return READERS[grantType.value](asked);
}

const READERS = { authorization_code: readCode, refresh_token: readRefresh } satisfies Record<GrantType, unknown>;

function readCode(asked: RequestParameters): Outcome<CodeRequest> {
  const code = asked.one('code');
  if (code === undefined) return refused('code_missing');
  return accepted({
    grantType: 'authorization_code',
    code,
    redirectUri: asked.one('redirect_uri'),
    codeVerifier: asked.one('code_verifier'),
    resources: asked.all('resource'),
  });
}

function readRefresh(asked: RequestParameters): Outcome<RefreshRequest> {
  const refreshToken = asked.one('refresh_token');
  if (refreshToken === undefined) return refused('refresh_token_missing');
  return accepted({
    grantType: 'refresh_token',
    refreshToken,
    scope: asked.one('scope'),
    resources: asked.all('resource'),
  });
}
