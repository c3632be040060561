import type { UpstreamRow } from '../storage/records.ts';
import { StoreUnavailable, upstreamLock, type Store } from '../storage/store.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { RowLock } from './row-lock.ts';
import { grantOf } from './upstream-row.ts';
import type { Logger } from '../../contract/logger.ts';

export interface RevokeUpstreamDeps {
  readonly store: Pick<Store, 'upstreamTokens' | 'locks'>;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly log: Logger;
}

/** Moves the refresh token of an ended login to a login that shares its tokens and has no usable refresh token. */
async function passOn(
  ended: UpstreamRow,
  other: UpstreamRow,
  { upstreamTokens: rows, locks }: RevokeUpstreamDeps['store'],
) {
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
export async function revokeUpstream(row: UpstreamRow, { store, upstreams, log }: RevokeUpstreamDeps): Promise<void> {
  const upstream = upstreams.get(row.provider);
  if (!upstream || row.accessToken === '') return;
  try {
    if (!(await upstream.isClient(row.upstreamClientId))) return;
    const other = await store.upstreamTokens.latestForUser(row.userId, row.provider);
    if (other?.upstreamSubject === row.upstreamSubject) {
      await passOn(row, other, store);
      return;
    }
    const revoked = await upstream.revoke(grantOf(row));
    log.debug('upstream tokens of a login that has ended', { provider: row.provider, revoked });
  } catch (error) {
    const cause = error instanceof StoreUnavailable ? error.message : 'unexpected';
    log.warn('upstream tokens were not revoked', { provider: row.provider, error: cause });
  }
}
