import type { Login, LoginAttempt, UpstreamRow } from '../storage/records.ts';
import type { Upstream, UpstreamLogin } from '../upstream/upstream.ts';

type Owner = Pick<UpstreamRow, 'tsid' | 'provider' | 'userId' | 'clientId' | 'upstreamClientId' | 'storedAt'>;

const ownerOf = (
  { tsid, clientId }: LoginAttempt,
  { userId }: Login,
  { name, clientId: upstreamClientId }: Pick<Upstream, 'name' | 'clientId'>,
  storedAt: number,
): Owner => ({ tsid, provider: name, userId, clientId, upstreamClientId, storedAt });

/** What a leg leaves behind. */
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

/** In place of tokens, where the user's logins leave the provider out: another login would not bring them. */
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
