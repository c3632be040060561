import type { UpstreamRow } from '../storage/records.ts';
import { StoreUnavailable, type Store } from '../storage/store.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { grantOf } from './upstream-row.ts';
import type { Logger } from '../../contract/logger.ts';

export interface RevokeUpstreamDeps {
  readonly store: Pick<Store, 'upstreamTokens'>;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly log: Logger;
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
    if (other?.upstreamSubject === row.upstreamSubject) return;
    const revoked = await upstream.revoke(grantOf(row));
    log.debug('upstream tokens of a login that has ended', { provider: row.provider, revoked });
  } catch (error) {
    const cause = error instanceof StoreUnavailable ? error.message : 'unexpected';
    log.warn('upstream tokens were not revoked', { provider: row.provider, error: cause });
  }
}
