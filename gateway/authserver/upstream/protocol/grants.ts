import type { ProviderConfig } from '../../../contract/run-config/upstreams.ts';
import { CREDENTIAL_ERRORS } from './client-authentication.ts';
import { KeysUnavailable, type CodeClient, type Granted } from './code-client.ts';
import type { RefreshOutcome, RefreshRequest, UpstreamDeps, UpstreamGrant } from '../upstream.ts';
import { UpstreamError } from '../upstream-error.ts';
import type { Provider } from './guards.ts';
import { afterTimeout, within } from '../../../kit/time.ts';

/** Error codes for an invalid refresh token, of RFC 6749 §5.2, GitHub and Slack. */
const DEAD: ReadonlySet<string> = new Set(['invalid_grant', 'bad_refresh_token', 'invalid_refresh_token']);
/** Error codes of a provider that fails. */
const FAILING: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable', 'slow_down']);

/** Runs `ask` and returns its outcome. `sameSubject` checks the claims of an ID token in the reply. */
export async function refreshOutcome(
  { grant: old }: RefreshRequest,
  ask: (refreshToken: string) => Promise<Granted>,
  sameSubject: (claims: NonNullable<Granted['claims']>) => boolean,
): Promise<RefreshOutcome> {
  if (!old.refreshToken) return { outcome: 'dead', reason: 'the provider issued no refresh token' };
  try {
    const { grant, claims } = await ask(old.refreshToken.reveal());
    if (claims && !sameSubject(claims)) return { outcome: 'dead', reason: 'the ID token has another subject' };
    return { outcome: 'refreshed', grant: completed(grant, old), rotated: isRotated(grant.refreshToken, old) };
  } catch (error) {
    return failure(error, old);
  }
}

/** Scopes that providers grant without listing them: the ID token and the refresh token show it. */
const UNLISTED_SCOPES: readonly string[] = ['openid', 'offline_access'];

/**
 * Returns `scope` for a refresh, which some providers require. Scopes beyond the grant would be rejected, and without
 * `scope` all granted ones apply (RFC 6749 §6). So it is sent only if all configured scopes are known to be granted.
 */
export function refreshScope(
  { scopes = [], omit_scope_on_refresh: omit }: Pick<ProviderConfig, 'scopes' | 'omit_scope_on_refresh'>,
  { scope: said }: Pick<UpstreamGrant, 'scope'>,
): string | undefined {
  if (omit === true || said === undefined || scopes.length === 0) return undefined;
  const granted = [...said.split(/[\s,]+/u), ...UNLISTED_SCOPES];
  return scopes.every((scope) => granted.includes(scope)) ? scopes.join(' ') : undefined;
}

function failure(error: unknown, old: UpstreamGrant): RefreshOutcome {
  if (!(error instanceof UpstreamError)) return { outcome: 'unavailable', reason: 'the refresh failed: unexpected' };
  const { fault, providerError, message } = error;
  const reason = providerError === undefined ? message : `${message} (${providerError})`;
  if (fault !== 'unavailable' && DEAD.has(providerError ?? '')) return { outcome: 'dead', reason };
  if (isRejected(error)) return { outcome: 'dead', reason, superseded: true };
  const rotated = error instanceof KeysUnavailable ? error.rotated : undefined;
  return isRotated(rotated, old) ? { outcome: 'unavailable', reason, rotated } : { outcome: 'unavailable', reason };
}

/**
 * Returns true if the provider rejects the refresh token with another code than that of the standard: Dex with `invalid_request`,
 * others with 401 or with 403 and a code. The same client got the token before, so that the request itself is not the reason.
 */
function isRejected({ fault, status, providerError }: UpstreamError): boolean {
  if (fault === 'unavailable' || FAILING.has(providerError ?? '') || CREDENTIAL_ERRORS.has(providerError ?? ''))
    return false;
  return status === 400 || status === 401 || (status === 403 && providerError !== undefined);
}

const isRotated = (refreshToken: UpstreamGrant['refreshToken'], old: UpstreamGrant): boolean =>
  refreshToken !== undefined && refreshToken.reveal() !== old.refreshToken?.reveal();

/** Adds the previous refresh token, ID token and scope when the reply omits them (RFC 6749 §6, OpenID Core §12.2). */
export const completed = (grant: UpstreamGrant, old: UpstreamGrant): UpstreamGrant => ({
  ...grant,
  refreshToken: grant.refreshToken ?? old.refreshToken,
  scope: grant.scope ?? old.scope,
  ...(!grant.idToken && { idToken: old.idToken, idTokenExpiresAt: old.idTokenExpiresAt }),
});

const LIMIT_MS = 5_000;

interface RevokingClient {
  readonly client: CodeClient;
  readonly provider: Provider;
}

/** The part of the access to a provider that a revocation needs. */
interface RevokingAccess {
  use<T>(operation: (access: RevokingClient) => Promise<T>): Promise<T>;
}

/** Revokes the refresh token, which should also end the access token (RFC 7009 §2.1), and then the access token. */
export async function revokeGrant(
  grant: UpstreamGrant,
  access: RevokingAccess,
  { log, name }: Pick<UpstreamDeps, 'log' | 'name'>,
): Promise<boolean> {
  const failed = (error: unknown): false => {
    const cause = error instanceof Error ? error.message : 'unexpected';
    log.warn('upstream tokens cannot be revoked', { provider: name, cause });
    return false;
  };
  const revoked = access.use((opened) => revokeBoth(grant, opened)).catch(failed);
  return within(LIMIT_MS, revoked, false, { after: afterTimeout });
}

async function revokeBoth(
  { refreshToken, accessToken }: UpstreamGrant,
  { client, provider: to }: RevokingClient,
): Promise<boolean> {
  if (to.metadata.revocation_endpoint === undefined) return false;
  if (refreshToken) await client.revoke(to, refreshToken.reveal(), 'refresh_token');
  await client.revoke(to, accessToken.reveal(), 'access_token');
  return true;
}
