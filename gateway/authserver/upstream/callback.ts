import type { Callback } from './upstream.ts';
import { UpstreamError } from './upstream-error.ts';

/** Check of `iss` in the callbacks of a provider. @see RFC 9207 */
export interface IssuerRule {
  readonly accepts: (iss: string) => boolean;
  /** The provider's metadata state that every callback has `iss`. */
  readonly required: boolean;
}

/** Error codes that mean a denial by the user or by the provider's policy. @see RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6 */
const DENIALS: ReadonlySet<string> = new Set([
  'access_denied',
  'login_required',
  'interaction_required',
  'consent_required',
]);

/** Returns the code of a callback. Checks `iss`, then `error`, then `code`. Throws `UpstreamError`. */
export function readCode({ code, iss, error, errorDescription }: Callback, rule: IssuerRule): string {
  if (iss === undefined ? rule.required : !rule.accepts(iss)) {
    const what = iss === undefined ? 'without the required iss' : 'with the iss of another provider';
    throw new UpstreamError('mixed_up', `the callback arrived ${what}`);
  }
  if (error !== undefined) {
    const facts = { providerError: error, providerDescription: errorDescription };
    throw new UpstreamError(faultOf(error), 'the provider returned an error in the callback', facts);
  }
  if (code === undefined || code === '') {
    throw new UpstreamError('bad_reply', 'the callback has neither code nor error');
  }
  return code;
}

function faultOf(error: string): 'denied' | 'unavailable' | 'rejected' {
  if (DENIALS.has(error)) return 'denied';
  return error === 'temporarily_unavailable' ? 'unavailable' : 'rejected'; // RFC 6749 §4.1.2.1: sent instead of a 503
}

/** Accepts only the exact issuer of an OpenID provider. */
export const exactIssuer = (issuer: string, required: boolean): IssuerRule => ({
  accepts: (iss) => iss === issuer,
  required,
});

/** Accepts an `iss` with the origin of one of these endpoints, for a provider whose issuer is unknown. */
export function issuerOfOrigin(...endpoints: readonly string[]): IssuerRule {
  const origins = new Set(endpoints.map((endpoint) => new URL(endpoint).origin));
  return { accepts: (iss) => origins.has(URL.parse(iss)?.origin ?? ''), required: false };
}
