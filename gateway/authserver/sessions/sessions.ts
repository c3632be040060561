import type { UpstreamTokens } from '../../outgoing/upstream-tokens.ts';
import { FIXED_LIFESPANS } from '../core/lifespans.ts';
import type { EmitEvent } from '../events.ts';
import type { AuthServerSettings } from '../settings.ts';
import type { FamilyRef, UpstreamRow } from '../storage/records.ts';
import { StoreUnavailable, upstreamLock, type Store } from '../storage/store.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { ChallengeMarks } from './challenge-marks.ts';
import type { LivenessCache } from './liveness.ts';
import { RowRefresh } from './row-refresh.ts';
import { StoredUpstreamTokens } from './stored-upstream-tokens.ts';
import { storedGrant, isRefreshable } from './upstream-row.ts';
import type { Logger } from '../../contract/logger.ts';
import { RowLock } from './row-lock.ts';

/** Completed logins: their liveness, their upstream tokens and their end. */
export interface Sessions {
  readonly liveness: LivenessCache;
  readonly upstreamTokens: UpstreamTokens;
  /**
   * Ends a login: its family, refresh tokens, access tokens and stored upstream tokens. Then revokes the tokens at the providers in
   * the background, best effort. Rejects with `StoreUnavailable` if the family cannot be ended.
   */
  end(ref: FamilyRef): Promise<void>;
  /** Ends every login of a client. */
  endAllOf(clientId: string): Promise<void>;
  /**
   * Returns true if the upstream grant of this login has ended, so that a refresh is useless. Called before the refresh token is
   * rotated. Refreshes an expired token of the first provider to find out; temporary failures do not count.
   */
  isUpstreamDead(tsid: string): Promise<boolean>;
}

interface SessionsDeps {
  readonly settings: Pick<AuthServerSettings, 'providers' | 'lifespans'>;
  readonly store: Pick<Store, 'families' | 'upstreamTokens' | 'locks'>;
  /** Providers by name. */
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly liveness: LivenessCache;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Logger;
  readonly emit: EmitEvent;
}

/** Time that a refreshing client waits for the first provider. */
const FIRST_PROVIDER_WAIT_MS = 5_000;
/** Logins of a client that are ended concurrently. */
const ENDED_AT_ONCE = 10;

export function createSessions(deps: SessionsDeps): Sessions {
  const { settings, store, upstreams, liveness, now, emit, log } = deps;
  const revoke = (row: UpstreamRow): void => {
    void revokeUpstream(row, deps);
  };
  const refresh = new RowRefresh({ store, emit, now, onUnwanted: revoke });
  const keepMs = settings.lifespans.refreshToken * 1_000;
  const marks = new ChallengeMarks({ store, liveness, now, keepMs });
  const upstreamTokens = new StoredUpstreamTokens({ store, upstreams, refresh, marks, now });

  /**
   * Revokes the family first. From then on the incoming boundary rejects every token of the login, so that derived credentials,
   * such as exchanged tokens, are of no use.
   */
  const end = async (ref: FamilyRef): Promise<void> => {
    await store.families.revoke(ref, revokedForMs(settings));
    liveness.forget(ref.tsid);
    upstreamTokens.forget(ref.tsid);
    for (const row of await takeRows(ref.tsid, store, log)) revoke(row);
  };

  return {
    liveness,
    upstreamTokens,
    end,
    async endAllOf(clientId) {
      const refs = await store.families.ofClient(clientId);
      while (refs.length > 0) await Promise.all(refs.splice(0, ENDED_AT_ONCE).map(end));
    },
    async isUpstreamDead(tsid) {
      const rows = await store.upstreamTokens.all(tsid);
      if (rows.some(({ dead, challenged }) => dead === true || challenged === true)) return true;
      const first = rows.find(({ provider }) => provider === settings.providers[0]);
      const upstream = upstreams.get(settings.providers[0]);
      if (!first || !upstream || !mustBeRefreshed(first, now())) return false;
      if (!(await upstream.isClient(first.upstreamClientId))) return false;
      const renewal = await refresh.renew(first, upstream, FIRST_PROVIDER_WAIT_MS);
      return renewal.kind === 'row' && renewal.row.dead === true;
    },
  };
}

/** Returns true for an expired row that can be refreshed. Expiry without a refresh token does not mean that the grant has ended. */
const mustBeRefreshed = (row: UpstreamRow, now: number): boolean =>
  isRefreshable(row) && row.expiresAt !== undefined && row.expiresAt <= now;

/** Returns a time longer than the lifetime of access tokens and of the code that could still create the family. */
const revokedForMs = ({ lifespans }: SessionsDeps['settings']): number =>
  1_000 * (Math.max(lifespans.accessToken, FIXED_LIFESPANS.usedCode) + 60);

/** Deletes and returns the rows of a login that has ended. Rows that cannot be deleted now expire by their TTL. */
async function takeRows(
  tsid: string,
  { upstreamTokens: rows }: Pick<Store, 'upstreamTokens'>,
  log: Logger,
): Promise<readonly UpstreamRow[]> {
  try {
    const found = await rows.all(tsid);
    await rows.delete(tsid);
    return found;
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    log.warn('upstream tokens of a login that has ended could not be deleted', { error: error.message });
    return [];
  }
}

/** Moves the refresh token of an ended login to a login that shares its tokens and has no usable refresh token. */
async function passOn(ended: UpstreamRow, other: UpstreamRow, { upstreamTokens: rows, locks }: SessionsDeps['store']) {
  const { refreshToken, upstreamClientId } = ended;
  if (other.shared !== true || refreshToken === undefined || other.upstreamClientId !== upstreamClientId) return;
  const lock = await RowLock.acquire(locks, upstreamLock(other.tsid, other.provider));
  if (!lock) return;
  try {
    const present = await rows.get(other.tsid, other.provider);
    if (present?.shared === true) await rows.replace({ ...present, refreshToken, shared: false }, lock.current);
  } finally {
    await lock.release();
  }
}

/**
 * Revokes the tokens of a deleted row at their provider, best effort. Skips it while the user has another login there, because
 * many providers revoke the whole grant with one token. Never rejects.
 */
async function revokeUpstream(row: UpstreamRow, { store, upstreams, log }: SessionsDeps): Promise<void> {
  const upstream = upstreams.get(row.provider);
  if (!upstream || row.accessToken === '') return;
  try {
    if (!(await upstream.isClient(row.upstreamClientId))) return;
    const other = await store.upstreamTokens.latestForUser(row.userId, row.provider);
    if (other?.upstreamSubject === row.upstreamSubject) {
      await passOn(row, other, store);
      return;
    }
    const revoked = await upstream.revoke(storedGrant(row));
    log.debug('upstream tokens of a login that has ended', { provider: row.provider, revoked });
  } catch (error) {
    const cause = error instanceof StoreUnavailable ? error.message : 'unexpected';
    log.warn('upstream tokens were not revoked', { provider: row.provider, error: cause });
  }
}
