import { setTimeout as sleep } from 'node:timers/promises';
import { Flights } from '../../kit/tasks.ts';
import { nextPauseMs, within } from '../../kit/time.ts';
import { RecentlyUsed } from '../../kit/cache.ts';
import type { EmitEvent } from '../events.ts';
import type { UpstreamRow } from '../storage/records.ts';
import { StoreUnavailable, upstreamLock, type Store } from '../storage/store.ts';
import type { RefreshOutcome, Upstream } from '../upstream/upstream.ts';
import { RowLock } from './row-lock.ts';
import {
  deadRow,
  storedGrant,
  isRefreshable,
  isRenewed,
  judge,
  refreshedRow,
  rowKey,
  sharedRow,
} from './upstream-row.ts';

/** Time that a caller waits. The refresh continues without it, so that no rotated refresh token gets lost. */
const REFRESH_LIMIT_MS = 30_000;
/** Interval at which a waiting process reads the row again. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 250;
/** Pauses after each attempt to write a row. */
const WRITE_PAUSES_MS = [200, 1_000, 0];
const MAX_UNSAVED = 1_000;

/** Result of a refresh. */
export type Renewal =
  /** The current row: with other tokens, dead, or without a refresh token. Another process may have renewed it. */
  | { readonly kind: 'row'; readonly row: UpstreamRow }
  /** The row has been deleted. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'unavailable'; readonly reason: string }
  | { readonly kind: 'store_unavailable'; readonly reason: string };

interface RowRefreshDeps {
  readonly store: Pick<Store, 'upstreamTokens' | 'locks'>;
  readonly emit: EmitEvent;
  /** ms since the epoch. */
  readonly now: () => number;
  /** Called with new tokens of a login that has ended meanwhile. */
  readonly onUnwanted: (row: UpstreamRow) => void;
}

/** Redeems refresh tokens, one at a time for each row across all processes. */
export class RowRefresh {
  readonly #deps: RowRefreshDeps;
  readonly #flights = new Flights<string, Renewal>();
  /** Rows that could be neither written nor deleted, by the used refresh token. */
  readonly #unsaved = new RecentlyUsed<UpstreamRow>(MAX_UNSAVED);

  constructor(deps: RowRefreshDeps) {
    this.#deps = deps;
  }

  /** Gets other tokens than those of `row` within `limitMs`. Never rejects. */
  async renew(row: UpstreamRow, upstream: Upstream, limitMs = REFRESH_LIMIT_MS): Promise<Renewal> {
    return within(limitMs, this.#shared(row, upstream), unavailable('the refresh takes too long'));
  }

  async #shared(row: UpstreamRow, upstream: Upstream): Promise<Renewal> {
    const key = rowKey(row.tsid, row.provider);
    const found = await this.#flights.get(key);
    // the refresh that has just ended may have stored the very tokens that must be replaced
    if (found && !(found.kind === 'row' && !isRenewed(found.row, row))) return found;
    return this.#flights.run(key, () => this.#fly(row, upstream));
  }

  async #fly(row: UpstreamRow, upstream: Upstream): Promise<Renewal> {
    try {
      let pauseMs = FIRST_PAUSE_MS;
      for (let waitedMs = 0; waitedMs < REFRESH_LIMIT_MS; waitedMs += pauseMs) {
        const renewal = await this.#attempt(row, upstream);
        if (renewal) return renewal;
        await sleep(pauseMs);
        pauseMs = nextPauseMs(pauseMs, LONGEST_PAUSE_MS);
      }
      return unavailable('another process has not come to an end with it');
    } catch (error) {
      if (error instanceof StoreUnavailable) return { kind: 'store_unavailable', reason: error.message };
      return unavailable('the refresh failed: unexpected');
    }
  }

  /** Returns undefined while another process refreshes the row. */
  async #attempt(row: UpstreamRow, upstream: Upstream): Promise<Renewal | undefined> {
    const { upstreamTokens: rows, locks } = this.#deps.store;
    const lock = await RowLock.acquire(locks, upstreamLock(row.tsid, row.provider));
    try {
      const present = await rows.get(row.tsid, row.provider);
      if (!present) return { kind: 'missing' };
      if (isRenewed(present, row) || !isRefreshable(present)) return { kind: 'row', row: present };
      if (!lock) return undefined;
      if (present.shared === true)
        return (await this.#share(present, upstream, lock)) ?? (await this.#markDead(present, lock));
      return await (this.#saveLate(present, lock) ?? this.#redeem(present, upstream, lock));
    } finally {
      await lock?.release();
    }
  }

  async #redeem(row: UpstreamRow, upstream: Upstream, lock: RowLock): Promise<Renewal> {
    const outcome = await upstream.refresh({ grant: storedGrant(row), subject: row.upstreamSubject });
    const shared =
      outcome.outcome === 'dead' && outcome.superseded === true ? await this.#share(row, upstream, lock) : undefined;
    if (shared) return shared;
    this.#report(row, outcome);
    switch (outcome.outcome) {
      case 'refreshed':
        return this.#store(row, refreshedRow(row, outcome.grant), lock, outcome.rotated);
      case 'dead':
        return this.#markDead(row, lock);
      case 'unavailable': {
        if (!outcome.rotated) return unavailable(outcome.reason);
        const stored = await this.#store(row, { ...row, refreshToken: outcome.rotated.reveal() }, lock, true);
        return stored.kind === 'row' && !isRenewed(stored.row, row) ? unavailable(outcome.reason) : stored;
      }
    }
  }

  /**
   * Takes the access token of the user's latest login at the provider, refreshed if necessary: a provider may keep one refresh
   * token for each user and client, so that a later login makes the earlier one useless. Returns undefined if there is none.
   */
  async #share(row: UpstreamRow, upstream: Upstream, lock: RowLock): Promise<Renewal | undefined> {
    const latest = await this.#deps.store.upstreamTokens.latestForUser(row.userId, row.provider);
    if (!latest || latest.tsid === row.tsid || !isOfSameGrant(latest, row)) return undefined;
    const isFresh = latest.accessToken !== row.accessToken && judge(latest, {}, this.#deps.now()).fresh;
    const renewal: Renewal = isFresh ? { kind: 'row', row: latest } : await this.renew(latest, upstream);
    if (renewal.kind === 'missing' || (renewal.kind === 'row' && renewal.row.accessToken === '')) return undefined;
    return renewal.kind === 'row' ? this.#store(row, sharedRow(row, renewal.row), lock, false) : renewal;
  }

  /** Stores the new tokens, or deletes the row: a second use of the old refresh token would end the grant. */
  async #store(before: UpstreamRow, next: UpstreamRow, lock: RowLock, rotated: boolean): Promise<Renewal> {
    const written = await this.#write(before, next, lock);
    if (written === 'ended') {
      this.#deps.onUnwanted(next);
      return { kind: 'missing' };
    }
    if (written !== 'failed') return { kind: 'row', row: written };
    if (!rotated) return { kind: 'row', row: next };
    this.#unsaved.set(before.refreshToken ?? '', next, this.#deps.now());
    await this.#deps.store.upstreamTokens.delete(next.tsid, next.provider);
    return { kind: 'missing' };
  }

  /** Stores tokens that could not be stored before, if the row still has the used refresh token. */
  #saveLate(present: UpstreamRow, lock: RowLock): Promise<Renewal> | undefined {
    const key = present.refreshToken ?? '';
    const next = this.#unsaved.get(key, this.#deps.now());
    if (!next || rowKey(next.tsid, next.provider) !== rowKey(present.tsid, present.provider)) return undefined;
    this.#unsaved.delete(key);
    return this.#store(present, next, lock, true);
  }

  async #markDead(row: UpstreamRow, lock: RowLock): Promise<Renewal> {
    const present = await this.#deps.store.upstreamTokens.get(row.tsid, row.provider);
    if (!present) return { kind: 'missing' };
    if (present.refreshToken !== row.refreshToken) return { kind: 'row', row: present }; // another process has rotated the token: the grant is not dead
    const dead = deadRow(row);
    const written = await this.#write(row, dead, lock);
    return { kind: 'row', row: typeof written === 'string' ? dead : written };
  }

  /** Writes `next` and returns it, or the row that another process has written before. */
  async #write(before: UpstreamRow, next: UpstreamRow, lock: RowLock): Promise<UpstreamRow | 'ended' | 'failed'> {
    const { upstreamTokens: rows } = this.#deps.store;
    for (const pauseMs of WRITE_PAUSES_MS) {
      try {
        if (await rows.replace(next, lock.current)) return next;
        const present = await rows.get(next.tsid, next.provider);
        if (!present) return 'ended';
        if (isRenewed(present, before) && present.dead !== true) return present;
        await lock.regain();
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
      }
      await sleep(pauseMs);
    }
    return 'failed';
  }

  #report({ provider, userId, clientId }: UpstreamRow, outcome: RefreshOutcome): void {
    const { emit } = this.#deps;
    const facts = { provider, sub: userId, client_id: clientId };
    if (outcome.outcome === 'refreshed') emit('upstream_refreshed', facts);
    else if (outcome.outcome === 'dead') emit('upstream_token_dead', { ...facts, reason: outcome.reason });
    else emit('upstream_refresh_failed', { ...facts, reason: outcome.reason });
  }
}

/** Returns true if `latest` has a refresh token of the same user and client at the provider. */
const isOfSameGrant = (latest: UpstreamRow, row: UpstreamRow): boolean =>
  latest.refreshToken !== undefined &&
  latest.upstreamSubject === row.upstreamSubject &&
  latest.upstreamClientId === row.upstreamClientId;

const unavailable = (reason: string): Renewal => ({ kind: 'unavailable', reason });
