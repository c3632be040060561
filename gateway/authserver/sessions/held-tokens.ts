import { Secret } from '../../contract/identity.ts';
import { RecentlyUsed } from '../../outgoing/recently-used.ts';
import type { UpstreamToken } from '../../outgoing/upstream-tokens.ts';
import type { UpstreamRow } from '../storage/records.ts';
import { rowKey } from './upstream-row.ts';

/** Cache time of a row: the delay after which a refresh or an end in another process is noticed. */
const CACHED_MS = 5_000;
const MAX_HELD = 10_000;

/** Cached row with its tokens and the results of later refreshes. Times are ms since the epoch. */
export interface HeldRow {
  readonly row: UpstreamRow;
  /** The same object as long as its tokens are the same. */
  readonly token: UpstreamToken;
  readonly cachedUntil: number;
  /** Usable tokens are not refreshed until then, because the last refresh failed or returned a token that expires soon. */
  readonly quietUntil: number;
  /** No ID token is requested until then, because the last refresh returned none. */
  readonly idTokenQuietUntil: number;
}

/** Cache of decrypted rows, so that most calls need neither the store nor decryption. */
export class HeldTokens {
  readonly #now: () => number;
  readonly #held = new RecentlyUsed<HeldRow>(MAX_HELD);

  /** @param now ms since the epoch. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns undefined for a row that must be read from the store. */
  find(tsid: string, provider: string): HeldRow | undefined {
    const now = this.#now();
    const held = this.#held.get(rowKey(tsid, provider), now);
    return held && held.cachedUntil > now ? held : undefined;
  }

  remember(row: UpstreamRow): HeldRow {
    const now = this.#now();
    const key = rowKey(row.tsid, row.provider);
    const before = this.#held.get(key, now);
    const known = before && holdsSame(before.row, row) ? before : undefined;
    const held: HeldRow = {
      row,
      token: known?.token ?? tokenOf(row),
      cachedUntil: now + CACHED_MS,
      quietUntil: known?.quietUntil ?? 0,
      idTokenQuietUntil: before?.idTokenQuietUntil ?? 0,
    };
    this.#held.set(key, held, now);
    return held;
  }

  note(held: HeldRow, until: Partial<Pick<HeldRow, 'quietUntil' | 'idTokenQuietUntil'>>): void {
    this.#held.set(rowKey(held.row.tsid, held.row.provider), { ...held, ...until }, this.#now());
  }

  forget(tsid: string, provider: string): void {
    this.#held.delete(rowKey(tsid, provider));
  }
}

const tokenOf = ({ accessToken, idToken, expiresAt, idTokenExpiresAt }: UpstreamRow): UpstreamToken => ({
  accessToken: new Secret(accessToken),
  expiresAt,
  ...(idToken !== undefined && { idToken: new Secret(idToken), idTokenExpiresAt }),
});

const holdsSame = (one: UpstreamRow, other: UpstreamRow): boolean =>
  one.accessToken === other.accessToken &&
  one.idToken === other.idToken &&
  one.expiresAt === other.expiresAt &&
  one.idTokenExpiresAt === other.idTokenExpiresAt;
