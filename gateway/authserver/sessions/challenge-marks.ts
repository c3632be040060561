import type { UpstreamTokenOwner } from '../../outgoing/upstream-tokens.ts';
import type { UpstreamRow } from '../storage/records.ts';
import { StoreUnavailable, upstreamLock, type Store } from '../storage/store.ts';
import type { LivenessCache } from './liveness.ts';
import { RowLock } from './row-lock.ts';
import { isRenewed, missingRow, rowKey } from './upstream-row.ts';
import { Flights } from '../../kit/tasks.ts';

interface ChallengeMarkDeps {
  readonly store: Pick<Store, 'upstreamTokens' | 'locks'>;
  readonly liveness: LivenessCache;
  /** Lifetime of a mark for a missing row: the idle lifetime of a refresh token. */
  readonly keepMs: number;
  /** ms since the epoch. */
  readonly now: () => number;
}

/**
 * Marks logins whose client was told to log in again. The next refresh of such a login then fails. Otherwise the client would
 * keep refreshing access tokens without effect.
 */
export class ChallengeMarks {
  readonly #deps: ChallengeMarkDeps;
  readonly #running = new Flights<string>();

  constructor(deps: ChallengeMarkDeps) {
    this.#deps = deps;
  }

  /** Marks `row`, or a missing row. Concurrent calls write once. Skipped while the store is down. Never rejects. */
  async add(owner: UpstreamTokenOwner, provider: string, row: UpstreamRow | undefined): Promise<void> {
    if (row?.dead === true || row?.challenged === true) return;
    const key = rowKey(owner.tsid, provider);
    await this.#running.run(key, () => this.#mark(owner, provider, row));
  }

  async #mark(owner: UpstreamTokenOwner, provider: string, row: UpstreamRow | undefined): Promise<void> {
    try {
      if (row) await this.#markRow(row);
      else await this.#markMissing(owner, provider);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  }

  async #markMissing({ clientId, ...owner }: UpstreamTokenOwner, provider: string): Promise<void> {
    const { store, liveness, now, keepMs } = this.#deps;
    if (clientId === undefined) return;
    if (!(await liveness.isLive({ tsid: owner.tsid, userId: owner.subject, clientId }))) return;
    await store.upstreamTokens.put(missingRow({ ...owner, clientId }, provider, now()), keepMs);
  }

  async #markRow(row: UpstreamRow): Promise<void> {
    const { upstreamTokens: rows, locks } = this.#deps.store;
    const lock = await RowLock.acquire(locks, upstreamLock(row.tsid, row.provider));
    if (!lock) return; // a refresh is running
    try {
      const present = await rows.get(row.tsid, row.provider);
      if (present && !isRenewed(present, row)) await rows.replace({ ...present, challenged: true }, lock.current);
    } finally {
      await lock.release();
    }
  }
}
