import { Secret } from '../../contract/identity.ts';
import { RecentlyUsed } from '../../outgoing/recently-used.ts';
import type { UpstreamToken } from '../../outgoing/upstream-tokens.ts';
import type { UpstreamRow } from '../storage/records.ts';
import { rowKey } from './upstream-row.ts';

/** How long a row that was read is believed: so much later a refresh or an end by another process counts here. */
const BELIEVED_MS = 5_000;
const MAX_HELD = 10_000;

/** A row with tokens as it was read last, and what was learnt since. Times are ms since the epoch. */
export interface HeldRow {
  readonly row: UpstreamRow;
  /** The same object as long as the texts in it are the same. */
  readonly token: UpstreamToken;
  readonly believedUntil: number;
  /** The provider was asked in vain, or gives nothing that lasts longer: until then what can be used is. */
  readonly quietUntil: number;
  /** The provider gives no ID token with a refresh: until then none is asked for. */
  readonly idTokenQuietUntil: number;
}

/** Opened rows in this process, so that a call neither asks the store nor decrypts. */
export class HeldTokens {
  readonly #now: () => number;
  readonly #held = new RecentlyUsed<HeldRow>(MAX_HELD);

  /** @param now ms since the epoch. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Undefined: it has to be read. */
  find(tsid: string, provider: string): HeldRow | undefined {
    const now = this.#now();
    const held = this.#held.get(rowKey(tsid, provider), now);
    return held && held.believedUntil > now ? held : undefined;
  }

  remember(row: UpstreamRow): HeldRow {
    const now = this.#now();
    const key = rowKey(row.tsid, row.provider);
    const before = this.#held.get(key, now);
    const known = before && holdsSame(before.row, row) ? before : undefined;
    const held: HeldRow = {
      row,
      token: known?.token ?? tokenOf(row),
      believedUntil: now + BELIEVED_MS,
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
