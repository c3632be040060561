import { accepted, refused, type Checked } from './refusal.ts';

/** Scope token. @see RFC 6749 §3.3 */
const SCOPE_TOKEN = /^[\x21\x23-\x5B\x5D-\x7E]+$/;

/** Returns the scopes of a `scope` parameter in order, without duplicates; none for absent or blank text. */
export function parseScope(text: string | undefined): Checked<readonly string[]> {
  const scopes = (text ?? '').split(' ').filter((scope) => scope !== '');
  return scopes.every((scope) => SCOPE_TOKEN.test(scope)) ? accepted([...new Set(scopes)]) : refused('scope_malformed');
}

export const formatScope = (scopes: readonly string[]): string => scopes.join(' ');

interface ScopeRules {
  /** `scopes_supported` of the server. */
  readonly supported: readonly string[];
  /** Scopes that the client has registered. Those that the server does not support any more are ignored. */
  readonly registered: readonly string[];
}

/** Returns the scopes of an authorization request; all registered scopes of the client when it has none. */
export function requestedScopes(
  text: string | undefined,
  { supported, registered }: ScopeRules,
): Checked<readonly string[]> {
  const requested = parseScope(text);
  if (!requested.ok) return requested;
  const allowed = registered.filter((scope) => supported.includes(scope));
  if (requested.value.length === 0) return accepted(allowed);
  return isSubset(requested.value, allowed) ? requested : refused('scope_unknown');
}

/** Returns the scopes of the next access token: the granted ones, or the requested subset. @see RFC 6749 §6 */
export function narrowedScopes(text: string | undefined, granted: readonly string[]): Checked<readonly string[]> {
  const requested = parseScope(text);
  if (!requested.ok) return requested;
  if (requested.value.length === 0) return accepted(granted);
  return isSubset(requested.value, granted) ? requested : refused('scope_widened');
}

const isSubset = (part: readonly string[], whole: readonly string[]): boolean =>
  part.every((scope) => whole.includes(scope));
