import { Secret } from '../../gateway/contract/identity.ts';
import { CredentialError } from '../../gateway/outgoing/authenticator.ts';
import type {
  UpstreamToken,
  UpstreamTokenNeed,
  UpstreamTokenOwner,
  UpstreamTokens,
} from '../../gateway/outgoing/upstream-tokens.ts';

/** Tokens of a provider, with lifetimes in seconds. */
export interface UpstreamGrant {
  readonly accessToken: string;
  readonly expiresIn?: number;
  readonly idToken?: string;
  readonly idTokenExpiresIn?: number;
}

/** Tokens of a login. `refresh` redeems its refresh token; it is absent when there is none. */
export interface UpstreamLogin extends UpstreamGrant {
  /** Rejects with `CredentialError`: `reauthenticate` for a revoked grant, `unavailable` for a provider that does not answer. */
  readonly refresh?: () => Promise<UpstreamGrant>;
}

interface Row {
  readonly owner: UpstreamTokenOwner;
  readonly refresh: (() => Promise<UpstreamGrant>) | undefined;
  token: UpstreamToken;
  flight: Promise<UpstreamToken> | undefined;
  dead: boolean;
}

const REFRESH_BEFORE_MS = 60_000;

/** Upstream tokens in memory, for tests and benchmarks. A valid token is the same object each time. */
export class MemoryUpstreamTokens implements UpstreamTokens {
  readonly #now: () => number;
  readonly #rows = new Map<string, Row>();
  /** True makes every read fail. */
  down = false;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  put(owner: UpstreamTokenOwner, provider: string, { refresh, ...grant }: UpstreamLogin): void {
    const row: Row = { owner, refresh, token: this.#tokenOf(grant), flight: undefined, dead: false };
    this.#rows.set(keyOf(owner, provider), row);
  }

  /** Removes a login, like a logout or a revocation. */
  delete(owner: UpstreamTokenOwner, provider: string): void {
    this.#rows.delete(keyOf(owner, provider));
  }

  get(owner: UpstreamTokenOwner, provider: string, need?: UpstreamTokenNeed): UpstreamToken | Promise<UpstreamToken> {
    if (this.down) throw new CredentialError('store_unavailable', 'the store of upstream tokens is down');
    const row = this.#rows.get(keyOf(owner, provider));
    if (!row || row.dead || row.owner.subject !== owner.subject || row.owner.clientId !== owner.clientId) {
      throw loginNeeded(provider);
    }
    return this.#serves(row.token, need, REFRESH_BEFORE_MS) ? row.token : this.#renewed(row, provider, need);
  }

  /** Returns true when a token is valid for at least this time. */
  #serves({ accessToken, expiresAt, idToken, idTokenExpiresAt }: UpstreamToken, need: UpstreamTokenNeed = {}, ms = 0) {
    const until = this.#now() + ms;
    const isFresh = (end: number | undefined) => end === undefined || end > until;
    const idTokenServes = need.idToken !== true || (idToken !== undefined && isFresh(idTokenExpiresAt));
    return isFresh(expiresAt) && idTokenServes && need.refused?.reveal() !== accessToken.reveal();
  }

  async #renewed(row: Row, provider: string, need: UpstreamTokenNeed | undefined): Promise<UpstreamToken> {
    const { token } = row;
    try {
      row.flight ??= this.#refresh(row, provider).finally(() => (row.flight = undefined));
      return await row.flight;
    } catch (error) {
      if (this.#serves(token, { ...need, idToken: false }) && !row.dead) return token;
      throw error;
    }
  }

  async #refresh(row: Row, provider: string): Promise<UpstreamToken> {
    if (!row.refresh) throw loginNeeded(provider);
    try {
      const grant = await row.refresh();
      const { idToken, idTokenExpiresAt } = row.token;
      row.token = { idToken, idTokenExpiresAt, ...this.#tokenOf(grant) };
      return row.token;
    } catch (error) {
      const dead = error instanceof CredentialError && error.fault === 'reauthenticate';
      row.dead ||= dead;
      throw dead ? loginNeeded(provider) : error;
    }
  }

  #tokenOf({ accessToken, expiresIn, idToken, idTokenExpiresIn }: UpstreamGrant): UpstreamToken {
    const end = (seconds: number | undefined) => (seconds === undefined ? undefined : this.#now() + seconds * 1_000);
    return {
      accessToken: new Secret(accessToken),
      expiresAt: end(expiresIn),
      ...(idToken !== undefined && { idToken: new Secret(idToken), idTokenExpiresAt: end(idTokenExpiresIn) }),
    };
  }
}

const keyOf = ({ tsid }: UpstreamTokenOwner, provider: string): string => JSON.stringify([tsid, provider]);

const loginNeeded = (provider: string): CredentialError =>
  new CredentialError('reauthenticate', `this login has no usable token of provider "${provider}"`, provider);
