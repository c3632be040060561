import { Secret } from '../../contract/identity.ts';
import type { UpstreamTokenNeed, UpstreamTokenOwner } from '../../outgoing/upstream-tokens.ts';
import type { UpstreamRow } from '../storage/records.ts';
import type { UpstreamGrant } from '../upstream/upstream.ts';

/** Returns a key for a row within this process. */
export const rowKey = (tsid: string, provider: string): string => JSON.stringify([tsid, provider]);

export const belongsTo = ({ userId, clientId }: UpstreamRow, owner: UpstreamTokenOwner): boolean =>
  userId === owner.subject && clientId === owner.clientId;

const secret = (text: string | undefined): Secret | undefined => (text === undefined ? undefined : new Secret(text));

/** Returns the grant stored in a row. */
export const storedGrant = (row: UpstreamRow): UpstreamGrant => ({
  accessToken: new Secret(row.accessToken),
  refreshToken: secret(row.refreshToken),
  idToken: secret(row.idToken),
  expiresAt: row.expiresAt,
  idTokenExpiresAt: row.idTokenExpiresAt,
  scope: row.scope,
});

/** Returns the row after a refresh, without its marks. */
export const refreshedRow = (row: UpstreamRow, grant: UpstreamGrant): UpstreamRow => ({
  ...withoutTokens(row),
  accessToken: grant.accessToken.reveal(),
  refreshToken: grant.refreshToken?.reveal(),
  idToken: grant.idToken?.reveal(),
  scope: grant.scope,
  expiresAt: grant.expiresAt,
  idTokenExpiresAt: grant.idTokenExpiresAt,
});

/** Returns the row with the tokens of a later login of the user. The refresh token stays there. */
export const sharedRow = (
  row: UpstreamRow,
  { accessToken, idToken, scope, expiresAt, idTokenExpiresAt }: UpstreamRow,
): UpstreamRow => ({
  ...withoutTokens(row),
  ...{ accessToken, idToken, scope, expiresAt, idTokenExpiresAt },
  shared: true,
});

/** Returns true if another access token can be had without a login. */
export const isRefreshable = ({ refreshToken, shared }: UpstreamRow): boolean =>
  refreshToken !== undefined || shared === true;

/** Returns the row of a grant that has ended. */
export const deadRow = (row: UpstreamRow): UpstreamRow => ({ ...withoutTokens(row), dead: true });

/** Returns a marked placeholder for a row that a login does not have, so that the client's next refresh fails. */
export const missingRow = (
  { tsid, subject, clientId }: UpstreamTokenOwner & { readonly clientId: string },
  provider: string,
  now: number,
): UpstreamRow => ({
  tsid,
  provider,
  userId: subject,
  clientId,
  upstreamSubject: '',
  upstreamClientId: '',
  accessToken: '',
  storedAt: now,
  challenged: true,
});

const withoutTokens = (row: UpstreamRow): UpstreamRow => ({
  tsid: row.tsid,
  provider: row.provider,
  userId: row.userId,
  clientId: row.clientId,
  upstreamSubject: row.upstreamSubject,
  upstreamClientId: row.upstreamClientId,
  accessToken: '',
  storedAt: row.storedAt,
});

/** Returns true if the tokens have changed or the grant has died since. A rotated refresh token alone does not count. */
export const isRenewed = (later: UpstreamRow, earlier: UpstreamRow): boolean =>
  later.accessToken !== earlier.accessToken || later.idToken !== earlier.idToken || later.dead !== earlier.dead;

/** Time before expiry at which a token is refreshed. */
const ACCESS_TOKEN_MARGIN_MS = 60_000;
const ID_TOKEN_MARGIN_MS = 30_000;

type Tokens = Pick<UpstreamRow, 'accessToken' | 'idToken' | 'expiresAt' | 'idTokenExpiresAt'>;

interface Judgement {
  /** They satisfy the need and need no refresh yet. */
  readonly fresh: boolean;
  /** They satisfy the need, but should be refreshed. */
  readonly usable: boolean;
}

const lasts = (end: number | undefined, until: number): boolean => end === undefined || end > until;

/** Compares tokens with a need. @param now ms since the epoch. */
export function judge(tokens: Tokens, need: UpstreamTokenNeed, now: number): Judgement {
  const { accessToken, expiresAt, idToken, idTokenExpiresAt } = tokens;
  if (need.refused?.reveal() === accessToken) return { fresh: false, usable: false };
  const idTokenLasts = (until: number): boolean =>
    need.idToken !== true || (idToken !== undefined && lasts(idTokenExpiresAt, until));
  return {
    fresh: lasts(expiresAt, now + ACCESS_TOKEN_MARGIN_MS) && idTokenLasts(now + ID_TOKEN_MARGIN_MS),
    usable: lasts(expiresAt, now) && idTokenLasts(now),
  };
}
