import type { AuthServerContext } from '../context.ts';
import { FIXED_LIFESPANS } from '../core/lifespans.ts';
import type { LoginAttempt, UpstreamRow } from '../storage/records.ts';
import { upstreamLock } from '../storage/store.ts';
import { skipLeg, postponeLegs, remainingMs } from './transition.ts';

/** An access token that expires sooner is refreshed. */
const FRESH_MS = 60_000;
const LOCK_MS = 15_000;

/**
 * Skips the legs whose tokens can be taken from an earlier login of the same user with the same client. It takes them only
 * after all other legs are done, so that a login attempt that fails costs the earlier login nothing.
 * @see storage/STORAGE.md
 */
export async function reuseGrants(context: AuthServerContext, attempt: LoginAttempt): Promise<LoginAttempt> {
  const { login, remaining, forceLogin = false } = attempt;
  if (!context.settings.reuseUpstreamTokens || !login || forceLogin) return attempt;
  const found = await Promise.all(remaining.map((provider) => reusableRow(context, attempt, login.userId, provider)));
  const rows = found.filter((row) => row !== undefined);
  if (rows.length < remaining.length) {
    const providers = rows.map(({ provider }) => provider);
    return postponeLegs(attempt, providers);
  }
  let left = attempt;
  for (const row of rows) if (await takeOver(context, attempt, row)) left = skipLeg(left, row.provider);
  return left;
}

/**
 * Adds the refresh token of the user's latest login to a row without one, if both are of the same upstream account and
 * upstream client. Some providers (Google) issue a refresh token at the first login only and accept it for every later one,
 * so that it is copied where the earlier login is still in use.
 */
export async function withEarlierRefreshToken(
  context: AuthServerContext,
  row: UpstreamRow,
  earlier: UpstreamRow | undefined,
): Promise<UpstreamRow> {
  if (!lacksRefreshToken(row) || !earlier || isSpent(earlier)) return row;
  const same = earlier.upstreamSubject === row.upstreamSubject && earlier.upstreamClientId === row.upstreamClientId;
  if (!same || earlier.refreshToken === undefined) return row;
  if (!(await isReplaced(context, earlier, row.clientId))) return { ...row, refreshToken: earlier.refreshToken };
  const { refreshToken } = (await takeRefreshToken(context, earlier)) ?? {};
  return { ...row, ...(refreshToken !== undefined && { refreshToken }) };
}

/** Returns true if the access token expires and nothing can refresh it. */
export const lacksRefreshToken = ({ refreshToken, expiresAt }: UpstreamRow): boolean =>
  refreshToken === undefined && expiresAt !== undefined;

const isSpent = ({ dead, challenged, excluded, accessToken }: UpstreamRow): boolean =>
  dead === true || challenged === true || excluded === true || accessToken === '';

async function reusableRow(
  context: AuthServerContext,
  { clientId }: LoginAttempt,
  userId: string,
  provider: string,
): Promise<UpstreamRow | undefined> {
  const { store, upstreams, now } = context;
  const row = await store.upstreamTokens.latestForUser(userId, provider);
  if (!row || isSpent(row) || row.shared === true || row.clientId !== clientId) return undefined;
  if ((await upstreams.get(provider)?.isClient(row.upstreamClientId)) !== true) return undefined;
  if (needsRefreshToken(row)) return (await isReplaced(context, row, clientId)) ? row : undefined;
  return row.expiresAt === undefined || row.expiresAt > now() + FRESH_MS ? row : undefined;
}

const needsRefreshToken = ({ refreshToken, expiresAt }: UpstreamRow): boolean =>
  refreshToken !== undefined && expiresAt !== undefined;

/**
 * Returns true if the login that holds the row does not need it any more: it has ended, it must log in again, or this login
 * replaces it. A client that registered itself is one installation and keeps one login. A client metadata document may
 * stand for many installations.
 */
async function isReplaced(
  { clients, store, settings, now }: AuthServerContext,
  row: UpstreamRow,
  clientId: string,
): Promise<boolean> {
  if (row.clientId === clientId && (await clients.known(clientId))?.source === 'registered') return true;
  const [live, rows] = await Promise.all([store.live.get(row.tsid), store.upstreamTokens.all(row.tsid)]);
  if (rows.some(({ dead, challenged }) => dead === true || challenged === true)) return true;
  const longestStartMs = (FIXED_LIFESPANS.loginAttempt + settings.lifespans.code) * 1_000;
  return live === undefined && now() - row.storedAt > longestStartMs; // the client of a newer login may not have redeemed its code yet
}

/** Moves the tokens to this login. Returns false if they are gone, so that the leg must run. */
async function takeOver(context: AuthServerContext, attempt: LoginAttempt, row: UpstreamRow): Promise<boolean> {
  const { store, now } = context;
  const taken = needsRefreshToken(row) ? await takeRefreshToken(context, row) : withoutRefreshToken(row);
  if (!taken) return false;
  const mine = { ...taken, tsid: attempt.tsid, storedAt: now() };
  await store.upstreamTokens.put(mine, remainingMs(attempt, now()));
  return true;
}

/**
 * Removes the refresh token from the row of another login, which keeps its access token. The token is removed before it is
 * stored again: if the store fails in between, the user must log in, but no two logins use one rotating token.
 */
async function takeRefreshToken(
  { store }: AuthServerContext,
  { tsid, provider }: UpstreamRow,
): Promise<UpstreamRow | undefined> {
  const lock = await store.locks.acquire(upstreamLock(tsid, provider), LOCK_MS);
  if (!lock) return undefined; // a refresh is under way
  try {
    const row = await store.upstreamTokens.get(tsid, provider);
    if (!row || isSpent(row) || row.refreshToken === undefined) return undefined;
    return (await store.upstreamTokens.replace(withoutRefreshToken(row), lock)) ? row : undefined;
  } finally {
    await store.locks.release(lock);
  }
}

function withoutRefreshToken({ refreshToken: _taken, ...row }: UpstreamRow): UpstreamRow {
  return row;
}
