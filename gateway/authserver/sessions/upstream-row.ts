import { Secret } from '../../contract/identity.ts';
import type { UpstreamTokenOwner } from '../../outgoing/upstream-tokens.ts';
import type { UpstreamRow } from '../storage/records.ts';
import type { UpstreamGrant } from '../upstream/upstream.ts';

/** Names a row in this process. */
export const rowKey = (tsid: string, provider: string): string => JSON.stringify([tsid, provider]);

export const isOf = ({ userId, clientId }: UpstreamRow, owner: UpstreamTokenOwner): boolean =>
  userId === owner.subject && clientId === owner.clientId;

const secret = (text: string | undefined): Secret | undefined => (text === undefined ? undefined : new Secret(text));

/** The grant that a row keeps. */
export const grantOf = (row: UpstreamRow): UpstreamGrant => ({
  accessToken: new Secret(row.accessToken),
  refreshToken: secret(row.refreshToken),
  idToken: secret(row.idToken),
  expiresAt: row.expiresAt,
  idTokenExpiresAt: row.idTokenExpiresAt,
  scope: row.scope,
});

/** The row after a refresh: what was held against it no longer counts. */
export const refreshedRow = (row: UpstreamRow, grant: UpstreamGrant): UpstreamRow => ({
  ...withoutTokens(row),
  accessToken: grant.accessToken.reveal(),
  refreshToken: grant.refreshToken?.reveal(),
  idToken: grant.idToken?.reveal(),
  scope: grant.scope,
  expiresAt: grant.expiresAt,
  idTokenExpiresAt: grant.idTokenExpiresAt,
});

/** The row of a grant that has ended. */
export const deadRow = (row: UpstreamRow): UpstreamRow => ({ ...withoutTokens(row), dead: true });

/** Stands for a row that a login does not have, so that the client's next refresh finds out. */
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

/** Somebody has got other tokens since, or has learnt that there are none. A rotated refresh token alone is neither. */
export const isRenewed = (later: UpstreamRow, earlier: UpstreamRow): boolean =>
  later.accessToken !== earlier.accessToken || later.idToken !== earlier.idToken || later.dead !== earlier.dead;
