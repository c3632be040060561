import type { JsonObject } from '../../../contract/json.ts';
import { accepted, refused, type Outcome } from '../refusal.ts';
import type { RequestParameters } from '../request-parameters.ts';

export interface AssertionRequest {
  readonly assertion: string;
  readonly scope: string | undefined;
  readonly targets: readonly string[];
}

/** Reads the parameters of a grant by assertion. @see RFC 7523 §2.1, RFC 8707 §2.2 */
export function readAssertionRequest(parameters: RequestParameters): Outcome<AssertionRequest> {
  const assertion = parameters.one('assertion');
  if (assertion === undefined) return refused('assertion_missing');
  return accepted({ assertion, scope: parameters.one('scope'), targets: parameters.all('resource') });
}

/** Reason why an assertion is rejected, for the log. */
export type AssertionFault = 'issued_at' | 'too_old' | 'jti' | 'token_type';

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
