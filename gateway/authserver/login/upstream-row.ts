import type { Login, LoginAttempt, UpstreamRow } from '../storage/records.ts';
import type { Upstream, UpstreamLogin } from '../upstream/upstream.ts';

type Owner = Pick<UpstreamRow, 'tsid' | 'provider' | 'userId' | 'clientId' | 'upstreamClientId' | 'storedAt'>;

const ownerOf = (
  { tsid, clientId }: LoginAttempt,
  { userId }: Login,
  { name, clientId: upstreamClientId }: Pick<Upstream, 'name' | 'clientId'>,
  storedAt: number,
): Owner => ({ tsid, provider: name, userId, clientId, upstreamClientId, storedAt });

/** Returns the row that stores the tokens of a leg. */
export function loginRow(
  attempt: LoginAttempt,
  login: Login,
  upstream: Pick<Upstream, 'name' | 'clientId'>,
  { grant, identity }: UpstreamLogin,
  now: number,
): UpstreamRow {
  const { accessToken, refreshToken, idToken, scope, expiresAt, idTokenExpiresAt } = grant;
  return {
    ...ownerOf(attempt, login, upstream, now),
    upstreamSubject: identity.subject,
    accessToken: accessToken.reveal(),
    ...(refreshToken && { refreshToken: refreshToken.reveal() }),
    ...(idToken && { idToken: idToken.reveal() }),
    ...(scope !== undefined && { scope }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(idTokenExpiresAt !== undefined && { idTokenExpiresAt }),
  };
}

/** Returns the row of a provider that the upstream filter excludes, so that no token request starts a new login for it. */
export const excludedRow = (
  attempt: LoginAttempt,
  login: Login,
  upstream: Pick<Upstream, 'name' | 'clientId'>,
): UpstreamRow => ({
  ...ownerOf(attempt, login, upstream, login.authTime),
  upstreamSubject: '',
  accessToken: '',
  excluded: true,
});
