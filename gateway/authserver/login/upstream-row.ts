import type { Login, Transaction, UpstreamRow } from '../storage/records.ts';
import type { Upstream, UpstreamLogin } from '../upstream/upstream.ts';

type Owner = Pick<UpstreamRow, 'tsid' | 'provider' | 'userId' | 'clientId' | 'upstreamClientId' | 'storedAt'>;

const ownerOf = (
  { tsid, clientId }: Transaction,
  { userId }: Login,
  { name, clientId: upstreamClientId }: Pick<Upstream, 'name' | 'clientId'>,
  storedAt: number,
): Owner => ({ tsid, provider: name, userId, clientId, upstreamClientId, storedAt });

/** What a leg leaves behind. */
export function loginRow(
  transaction: Transaction,
  login: Login,
  upstream: Pick<Upstream, 'name' | 'clientId'>,
  { grant, identity }: UpstreamLogin,
  now: number,
): UpstreamRow {
  const { accessToken, refreshToken, idToken, scope, expiresAt, idTokenExpiresAt } = grant;
  return {
    ...ownerOf(transaction, login, upstream, now),
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
  transaction: Transaction,
  login: Login,
  upstream: Pick<Upstream, 'name' | 'clientId'>,
): UpstreamRow => ({
  ...ownerOf(transaction, login, upstream, login.authTime),
  upstreamSubject: '',
  accessToken: '',
  excluded: true,
});
