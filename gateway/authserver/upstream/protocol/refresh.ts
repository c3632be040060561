import type { ProviderConfig } from '../../../contract/run-config-upstreams.ts';
import { KeysUnavailable, type Granted } from './code-client.ts';
import type { RefreshOutcome, RefreshRequest, UpstreamGrant } from '../upstream.ts';
import { UpstreamError } from '../upstream-error.ts';

/** RFC 6749 §5.2, GitHub, Slack. */
const DEAD: ReadonlySet<string> = new Set(['invalid_grant', 'bad_refresh_token', 'invalid_refresh_token']);

/** How `ask` ends, as an outcome. `sameSubject` judges the claims of an ID token that came along. */
export async function refreshOutcome(
  { grant: old }: RefreshRequest,
  ask: (refreshToken: string) => Promise<Granted>,
  sameSubject: (claims: NonNullable<Granted['claims']>) => boolean,
): Promise<RefreshOutcome> {
  if (!old.refreshToken) return { outcome: 'dead', reason: 'the provider gave no refresh token' };
  try {
    const { grant, claims } = await ask(old.refreshToken.reveal());
    if (claims && !sameSubject(claims)) return { outcome: 'dead', reason: 'the ID token is of another subject' };
    return { outcome: 'refreshed', grant: completed(grant, old), rotated: isRotated(grant.refreshToken, old) };
  } catch (error) {
    return failure(error, old);
  }
}

/** Scopes that providers grant without saying so: an ID token and a refresh token say it. */
const UNSAID: readonly string[] = ['openid', 'offline_access'];

/**
 * `scope` of a refresh, for providers that demand it. More than was granted would be refused, and none means all that
 * was granted (RFC 6749 §6), so that it is sent only where the two are known to be the same.
 */
export function refreshScope(
  { scopes = [], omit_scope_on_refresh: omit }: Pick<ProviderConfig, 'scopes' | 'omit_scope_on_refresh'>,
  { scope: said }: Pick<UpstreamGrant, 'scope'>,
): string | undefined {
  if (omit === true || said === undefined || scopes.length === 0) return undefined;
  const granted = [...said.split(/[\s,]+/u), ...UNSAID];
  return scopes.every((scope) => granted.includes(scope)) ? scopes.join(' ') : undefined;
}

function failure(error: unknown, old: UpstreamGrant): RefreshOutcome {
  if (!(error instanceof UpstreamError)) return { outcome: 'unavailable', reason: 'the refresh failed: unexpected' };
  const { fault, providerError, message } = error;
  const reason = providerError === undefined ? message : `${message} (${providerError})`;
  if (fault !== 'unavailable' && DEAD.has(providerError ?? '')) return { outcome: 'dead', reason };
  const rotated = error instanceof KeysUnavailable ? error.rotated : undefined;
  return isRotated(rotated, old) ? { outcome: 'unavailable', reason, rotated } : { outcome: 'unavailable', reason };
}

const isRotated = (refreshToken: UpstreamGrant['refreshToken'], old: UpstreamGrant): boolean =>
  refreshToken !== undefined && refreshToken.reveal() !== old.refreshToken?.reveal();

/** A provider that leaves out refresh token, ID token or scope means the old ones (RFC 6749 §6, OpenID Core §12.2). */
const completed = (grant: UpstreamGrant, old: UpstreamGrant): UpstreamGrant => ({
  ...grant,
  refreshToken: grant.refreshToken ?? old.refreshToken,
  scope: grant.scope ?? old.scope,
  ...(!grant.idToken && { idToken: old.idToken, idTokenExpiresAt: old.idTokenExpiresAt }),
});
