import type { AuthServerContext } from '../context.ts';
import { FIXED_LIFESPANS } from '../core/lifespans.ts';
import type { LoginAttempt, UpstreamRow } from '../storage/records.ts';
import { upstreamLock } from '../storage/store.ts';
import { skipLeg, postponeLegs, remainingMs } from './transition.ts';

/** An access token that ends sooner is due for a refresh. */
const FRESH_MS = 60_000;
const LOCK_MS = 15_000;

/**
 * Leaves out the legs whose tokens an earlier login of the same user with the same client has left behind. Nothing is
 * taken over before all other legs are done: a sign-in that fails costs the earlier login nothing.
 * @see ../storage/STORAGE.md
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
 * A login for which the provider gave no refresh token gets that of the user's latest login there, if it was the same
 * account and the same client of ours. Providers that give one at the first login only (Google) let every login use it,
 * so it is copied where the other login lives on.
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

/** It will run out, and then only another login would help. */
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
  if (!row || isSpent(row) || row.clientId !== clientId) return undefined;
  if (row.upstreamClientId !== upstreams.get(provider)?.clientId) return undefined;
  if (needsRefreshToken(row)) return (await isReplaced(context, row, clientId)) ? row : undefined;
  return row.expiresAt === undefined || row.expiresAt > now() + FRESH_MS ? row : undefined;
}

const needsRefreshToken = ({ refreshToken, expiresAt }: UpstreamRow): boolean =>
  refreshToken !== undefined && expiresAt !== undefined;

/**
 * Whether the login that holds the row loses nothing that it could go on with: it is over, it was told to log in again,
 * or the login that is under way takes its place. A client that registered itself is one installation and keeps one
 * login; a document may stand for many.
 */
async function isReplaced(
  { clients, store, settings, now }: AuthServerContext,
  row: UpstreamRow,
  clientId: string,
): Promise<boolean> {
  if (row.clientId === clientId && (await clients.known(clientId))?.source === 'registered') return true;
  const [live, rows] = await Promise.all([store.live.get(row.tsid), store.upstreamTokens.all(row.tsid)]);
  if (rows.some(({ dead, challenged }) => dead === true || challenged === true)) return true;
  const begunForMs = (FIXED_LIFESPANS.loginAttempt + settings.lifespans.code) * 1_000;
  return live === undefined && now() - row.storedAt > begunForMs; // a younger one may not have fetched its tokens yet
}

/** False: the tokens are not to be had any more, so that the leg must run. */
async function takeOver(context: AuthServerContext, attempt: LoginAttempt, row: UpstreamRow): Promise<boolean> {
  const { store, now } = context;
  const taken = needsRefreshToken(row) ? await takeRefreshToken(context, row) : withoutRefreshToken(row);
  if (!taken) return false;
  const mine = { ...taken, tsid: attempt.tsid, storedAt: now() };
  await store.upstreamTokens.put(mine, remainingMs(attempt, now()));
  return true;
}

/**
 * Takes the refresh token out of the row of another login, which keeps its access token. First out, then in: should the
 * store fail in between, a login is needed, but no provider sees one rotating token from two sides.
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
