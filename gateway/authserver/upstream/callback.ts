import type { Callback } from './upstream.ts';
import { UpstreamError } from './upstream-error.ts';

/** By which `iss` a provider is known in its callbacks. @see RFC 9207 */
export interface IssuerRule {
  readonly accepts: (iss: string) => boolean;
  /** Its metadata promise that `iss` is always there. */
  readonly required: boolean;
}

/** Refusals that the user or the provider's policy makes. @see RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6 */
const DENIALS: ReadonlySet<string> = new Set([
  'access_denied',
  'login_required',
  'interaction_required',
  'consent_required',
]);

/** The code of a callback, in the order: `iss`, `error`, `code`. Throws `UpstreamError`. */
export function codeOf({ code, iss, error, errorDescription }: Callback, rule: IssuerRule): string {
  if (iss === undefined ? rule.required : !rule.accepts(iss)) {
    const what = iss === undefined ? 'without the promised iss' : 'with the iss of another provider';
    throw new UpstreamError('mixed_up', `the callback came ${what}`);
  }
  if (error !== undefined) {
    const facts = { providerError: error, providerSays: errorDescription };
    throw new UpstreamError(faultOf(error), 'the provider called back with an error', facts);
  }
  if (code === undefined || code === '') {
    throw new UpstreamError('bad_reply', 'the callback holds neither code nor error');
  }
  return code;
}

function faultOf(error: string): 'denied' | 'unavailable' | 'rejected' {
  if (DENIALS.has(error)) return 'denied';
  return error === 'temporarily_unavailable' ? 'unavailable' : 'rejected'; // RFC 6749 §4.1.2.1: in place of a 503
}

/** The one issuer of an OpenID provider, character by character. */
export const exactIssuer = (issuer: string, required: boolean): IssuerRule => ({
  accepts: (iss) => iss === issuer,
  required,
});

/** A provider without metadata has no issuer to compare with: `iss` must at least be of the same origin. */
export function issuerOfOrigin(...endpoints: readonly string[]): IssuerRule {
  const origins = new Set(endpoints.map((endpoint) => new URL(endpoint).origin));
  return { accepts: (iss) => origins.has(URL.parse(iss)?.origin ?? ''), required: false };
}
