import { CredentialError } from '../../outgoing/authenticator.ts';
import type {
  UpstreamToken,
  UpstreamTokenNeed,
  UpstreamTokenOwner,
  UpstreamTokens,
} from '../../outgoing/upstream-tokens.ts';
import type { UpstreamRow } from '../storage/records.ts';
import { StoreUnavailable, type Store } from '../storage/store.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { ChallengeMarks } from './challenge-marks.ts';
import type { Renewal, RowRefresh } from './row-refresh.ts';
import { belongsTo, isRefreshable, judge, rowKey } from './upstream-row.ts';
import { Secret } from '../../contract/identity.ts';
import { RecentlyUsed } from '../../kit/cache.ts';

/** Time without another refresh after a failed one, while the current token is usable. */
const QUIET_MS = 5_000;
/** Time without a request for an ID token after a refresh that returned none. */
const ID_TOKEN_QUIET_MS = 300_000;

interface StoredUpstreamTokensDeps {
  readonly store: Pick<Store, 'upstreamTokens'>;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly refresh: RowRefresh;
  readonly marks: ChallengeMarks;
  /** ms since the epoch. */
  readonly now: () => number;
}

/** Arguments of one `get`. */
interface Asked {
  readonly owner: UpstreamTokenOwner;
  readonly upstream: Upstream;
  readonly need: UpstreamTokenNeed;
}

/** Returns stored upstream tokens, and refreshes them on demand. */
export class StoredUpstreamTokens implements UpstreamTokens {
  readonly #deps: StoredUpstreamTokensDeps;
  readonly #held: HeldTokens;

  constructor(deps: StoredUpstreamTokensDeps) {
    this.#deps = deps;
    this.#held = new HeldTokens(deps.now);
  }

  get(
    owner: UpstreamTokenOwner,
    provider: string,
    need: UpstreamTokenNeed = {},
  ): UpstreamToken | Promise<UpstreamToken> {
    const held = this.#held.find(owner.tsid, provider);
    if (held && belongsTo(held.row, owner) && this.#serves(held, need)) return held.token;
    return this.#fetch(owner, provider, need);
  }

  /** Drops the cached tokens of a login that has ended. */
  forget(tsid: string): void {
    for (const provider of this.#deps.upstreams.keys()) this.#held.forget(tsid, provider);
  }

  async #fetch(owner: UpstreamTokenOwner, provider: string, need: UpstreamTokenNeed): Promise<UpstreamToken> {
    const upstream = this.#deps.upstreams.get(provider);
    if (!upstream) throw new CredentialError('misconfigured', `there is no upstream provider "${provider}"`);
    const asked = { owner, upstream, need };
    const row = await this.#read(owner.tsid, provider);
    if (!row) throw await this.#loginNeeded(asked, undefined);
    if (!belongsTo(row, owner)) throw noUsableToken(provider); // without a mark: the row belongs to another login
    const held = await this.#usableRow(asked, row);
    if (this.#serves(held, need)) return held.token;
    if (!isRefreshable(row)) return this.#withoutRefresh(asked, held);
    return this.#renewed(asked, held, await this.#deps.refresh.renew(row, upstream));
  }

  #serves(held: HeldRow, need: UpstreamTokenNeed): boolean {
    const now = this.#deps.now();
    const { fresh, usable } = judge(held.row, held.idTokenQuietUntil > now ? { ...need, idToken: false } : need, now);
    return fresh || (usable && held.quietUntil > now);
  }

  /** Rejects with `CredentialError` if the row has no token of the configured upstream client. */
  async #usableRow(asked: Asked, row: UpstreamRow): Promise<HeldRow> {
    const { name } = asked.upstream;
    if (row.excluded === true) {
      throw new CredentialError('forbidden', `the upstream filter excludes provider "${name}" for this user`, name);
    }
    const isOurs = row.accessToken !== '' && (await this.#orStoreDown(asked.upstream.isClient(row.upstreamClientId)));
    if (!isOurs) throw await this.#loginNeeded(asked, row);
    return this.#held.remember(row);
  }

  async #withoutRefresh(asked: Asked, { row, token }: HeldRow): Promise<UpstreamToken> {
    const now = this.#deps.now();
    if (!judge(row, { ...asked.need, idToken: false }, now).usable) throw await this.#loginNeeded(asked, row);
    await this.#markIdToken(asked, row, now);
    return token;
  }

  /** Marks the login if it needs an ID token that is unavailable: the strategy will then demand a new login. */
  async #markIdToken({ owner, need }: Asked, row: UpstreamRow, now: number): Promise<void> {
    if (need.idToken === true && !judge(row, { idToken: true }, now).usable) {
      await this.#deps.marks.add(owner, row.provider, row);
    }
  }

  async #renewed(asked: Asked, before: HeldRow, renewal: Renewal): Promise<UpstreamToken> {
    switch (renewal.kind) {
      case 'row':
        return this.#afterRefresh(asked, await this.#usableRow(asked, renewal.row));
      case 'missing':
        throw await this.#loginNeeded(asked, undefined);
      case 'unavailable':
      case 'store_unavailable': {
        const now = this.#deps.now();
        const { kind, reason } = renewal;
        if (!judge(before.row, asked.need, now).usable) throw new CredentialError(kind, reason);
        this.#held.note(before, { quietUntil: now + QUIET_MS });
        return before.token;
      }
    }
  }

  /** Accepts the tokens of a refresh, even without an ID token or with a short life: another refresh would bring no better ones. */
  async #afterRefresh(asked: Asked, held: HeldRow): Promise<UpstreamToken> {
    const { row, token } = held;
    const now = this.#deps.now();
    if (judge(row, asked.need, now).fresh) return token;
    if (row.refreshToken === undefined) return this.#withoutRefresh(asked, held);
    if (!judge(row, { ...asked.need, idToken: false }, now).usable) {
      if (asked.need.refused?.reveal() === row.accessToken) throw await this.#loginNeeded(asked, row);
      throw new CredentialError('unavailable', `provider "${row.provider}" returns expired tokens`);
    }
    const shortLived = !judge(row, {}, now).fresh;
    this.#held.note(held, {
      ...(shortLived && { quietUntil: now + ((row.expiresAt ?? now) - now) / 2 }),
      ...(asked.need.idToken === true && { idTokenQuietUntil: now + ID_TOKEN_QUIET_MS }),
    });
    await this.#markIdToken(asked, row, now);
    return token;
  }

  #read(tsid: string, provider: string): Promise<UpstreamRow | undefined> {
    return this.#orStoreDown(this.#deps.store.upstreamTokens.get(tsid, provider));
  }

  async #orStoreDown<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof StoreUnavailable) throw new CredentialError('store_unavailable', error.message);
      throw error;
    }
  }

  async #loginNeeded({ owner, upstream }: Asked, row: UpstreamRow | undefined): Promise<CredentialError> {
    this.#held.forget(owner.tsid, upstream.name);
    await this.#deps.marks.add(owner, upstream.name, row);
    return noUsableToken(upstream.name);
  }
}

const noUsableToken = (provider: string): CredentialError =>
  new CredentialError('reauthenticate', `this login has no usable token of provider "${provider}"`, provider);

/** Cache time of a row: the delay after which a refresh or an end in another process is noticed. */
const CACHED_MS = 5_000;
const MAX_HELD = 10_000;

/** Cached row with its tokens and the results of later refreshes. Times are ms since the epoch. */
interface HeldRow {
  readonly row: UpstreamRow;
  /** The same object as long as its tokens are the same. */
  readonly token: UpstreamToken;
  readonly cachedUntil: number;
  /** Usable tokens are not refreshed until then, because the last refresh failed or returned a token that expires soon. */
  readonly quietUntil: number;
  /** No ID token is requested until then, because the last refresh returned no ID token. */
  readonly idTokenQuietUntil: number;
}

/** Cache of decrypted rows, so that most calls need neither the store nor decryption. */
class HeldTokens {
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
