import { accepted, refused, type Outcome } from './refusal.ts';

/** @see RFC 6749 §3.3 */
const SCOPE_TOKEN = /^[\x21\x23-\x5B\x5D-\x7E]+$/;

/** The scopes of a `scope` parameter, each once, in the order in which they are asked for; none for absent or blank text. */
export function parseScope(text: string | undefined): Outcome<readonly string[]> {
  const scopes = (text ?? '').split(' ').filter((scope) => scope !== '');
  return scopes.every((scope) => SCOPE_TOKEN.test(scope)) ? accepted([...new Set(scopes)]) : refused('scope_malformed');
}

export const formatScope = (scopes: readonly string[]): string => scopes.join(' ');

export interface ScopeRules {
  /** `scopes_supported` of the server. */
  readonly supported: readonly string[];
  /** What the client has registered. What the server supports no longer counts as not registered. */
  readonly registered: readonly string[];
}

/** What an authorization request asks for; all that the client has registered when it says nothing. */
export function requestedScopes(
  text: string | undefined,
  { supported, registered }: ScopeRules,
): Outcome<readonly string[]> {
  const asked = parseScope(text);
  if (!asked.ok) return asked;
  const allowed = registered.filter((scope) => supported.includes(scope));
  if (asked.value.length === 0) return accepted(allowed);
  return isSubset(asked.value, allowed) ? asked : refused('scope_unknown');
}

/** Scopes of the next access token: as granted when nothing is asked for, or fewer. @see RFC 6749 §6 */
export function narrowedScopes(text: string | undefined, granted: readonly string[]): Outcome<readonly string[]> {
  const asked = parseScope(text);
  if (!asked.ok) return asked;
  if (asked.value.length === 0) return accepted(granted);
  return isSubset(asked.value, granted) ? asked : refused('scope_widened');
}

const isSubset = (part: readonly string[], whole: readonly string[]): boolean =>
  part.every((scope) => whole.includes(scope));
