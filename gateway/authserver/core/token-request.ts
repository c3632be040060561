import { accepted, refused, type Checked } from './refusal.ts';
import type { RequestParameters } from './request-parameters.ts';
import type { JsonObject } from '../../contract/json.ts';

/** Grants of a login, which every client may register. */
export const LOGIN_GRANT_TYPES = ['authorization_code', 'refresh_token'] as const;

/** @see RFC 8693 §2.1 */
export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** @see RFC 7523 §2.1 */
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

export type GrantType = (typeof LOGIN_GRANT_TYPES)[number] | typeof TOKEN_EXCHANGE | typeof JWT_BEARER;

/** Reads the grant type, and rejects duplicated parameters, before the client is authenticated. @see RFC 6749 §5.2 */
export function readGrantType(parameters: RequestParameters, supported: readonly GrantType[]): Checked<GrantType> {
  if (parameters.duplicated.length > 0) return refused('parameter_duplicated');
  const named = parameters.one('grant_type');
  if (named === undefined) return refused('grant_type_missing');
  const known = supported.find((type) => type === named);
  return known === undefined ? refused('grant_type_unknown') : accepted(known);
}

interface CodeRequest {
  readonly code: string;
  readonly redirectUri: string | undefined;
  readonly codeVerifier: string | undefined;
  readonly resources: readonly string[];
}

/** Reads the parameters that redeem a code. @see RFC 6749 §4.1.3, RFC 7636 §4.5, RFC 8707 §2.2 */
export function readCodeRequest(parameters: RequestParameters): Checked<CodeRequest> {
  const code = parameters.one('code');
  if (code === undefined) return refused('code_missing');
  return accepted({
    code,
    redirectUri: parameters.one('redirect_uri'),
    codeVerifier: parameters.one('code_verifier'),
    resources: parameters.all('resource'),
  });
}

interface RefreshRequest {
  readonly refreshToken: string;
  readonly scope: string | undefined;
  readonly resources: readonly string[];
}

/** Reads the parameters of a refresh. @see RFC 6749 §6, RFC 8707 §2.2 */
export function readRefreshRequest(parameters: RequestParameters): Checked<RefreshRequest> {
  const refreshToken = parameters.one('refresh_token');
  if (refreshToken === undefined) return refused('refresh_token_missing');
  return accepted({ refreshToken, scope: parameters.one('scope'), resources: parameters.all('resource') });
}

interface AssertionRequest {
  readonly assertion: string;
  readonly scope: string | undefined;
  readonly targets: readonly string[];
}

/** Reads the parameters of a grant by assertion. @see RFC 7523 §2.1, RFC 8707 §2.2 */
export function readAssertionRequest(parameters: RequestParameters): Checked<AssertionRequest> {
  const assertion = parameters.one('assertion');
  if (assertion === undefined) return refused('assertion_missing');
  return accepted({ assertion, scope: parameters.one('scope'), targets: parameters.all('resource') });
}

/** Reason why an assertion is rejected, for the log. */
type AssertionFault = 'issued_at' | 'too_old' | 'jti' | 'token_type';

/** `typ` of assertions that authenticate a client and grant nothing. */
const CLIENT_AUTHENTICATION = /^(?:application\/)?client-authentication\+jwt$/iu;
const MAX_JTI_LENGTH = 1_024;

/** Checks what only assertions must fulfil. The claims of every token are checked elsewhere. Times in ms. @see RFC 7523 §3 */
export function assertionFault(
  { typ }: JsonObject,
  { iat, jti }: JsonObject,
  { now, skewMs, maxAgeMs }: { readonly now: number; readonly skewMs: number; readonly maxAgeMs: number },
): AssertionFault | undefined {
  if (typeof typ === 'string' && CLIENT_AUTHENTICATION.test(typ)) return 'token_type';
  if (typeof iat !== 'number') return 'issued_at';
  if (now - iat * 1_000 > maxAgeMs + skewMs) return 'too_old';
  const usable = jti === undefined || (typeof jti === 'string' && jti !== '' && jti.length <= MAX_JTI_LENGTH);
  return usable ? undefined : 'jti';
}

const TYPE_PREFIX = 'urn:ietf:params:oauth:token-type:';

/** Type of the issued tokens. @see RFC 8693 §3 */
export const ISSUED_TYPE = `${TYPE_PREFIX}access_token`;

const PRESENTED_TYPES: readonly string[] = ['access_token', 'jwt', 'id_token'].map((name) => TYPE_PREFIX + name);

interface ExchangeRequest {
  readonly subjectToken: string;
  readonly actorToken: string | undefined;
  /** Values of `resource` and `audience`. */
  readonly targets: readonly string[];
  readonly scope: string | undefined;
}

/** Reads the parameters of a token exchange. @see RFC 8693 §2.1 */
export function readExchangeRequest(parameters: RequestParameters): Checked<ExchangeRequest> {
  const subjectToken = parameters.one('subject_token');
  const subjectType = parameters.one('subject_token_type');
  if (subjectToken === undefined || subjectType === undefined) return refused('exchange_subject_missing');
  const actorToken = parameters.one('actor_token');
  const actorType = parameters.one('actor_token_type');
  if ((actorToken === undefined) !== (actorType === undefined)) return refused('exchange_actor_missing');
  const types = [subjectType, actorType ?? subjectType];
  if (!types.every((type) => PRESENTED_TYPES.includes(type))) return refused('exchange_token_type');
  if ((parameters.one('requested_token_type') ?? ISSUED_TYPE) !== ISSUED_TYPE)
    return refused('exchange_requested_type');
  const targets = [...new Set([...parameters.all('resource'), ...parameters.all('audience')])];
  return accepted({ subjectToken, actorToken, targets, scope: parameters.one('scope') });
}
