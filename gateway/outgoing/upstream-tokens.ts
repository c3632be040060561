import type { Secret } from '../contract/identity.ts';

/** Whose upstream tokens are meant: all three must fit the stored row. */
export interface UpstreamTokenOwner {
  readonly tsid: string;
  readonly subject: string;
  readonly clientId: string | undefined;
}

export interface UpstreamToken {
  readonly accessToken: Secret;
  readonly idToken?: Secret | undefined;
  /** ms since the epoch; undefined: does not expire. */
  readonly expiresAt?: number | undefined;
  readonly idTokenExpiresAt?: number | undefined;
}

export interface UpstreamTokenNeed {
  /** The access token that a backend has just refused: another one must be obtained. */
  readonly refused?: Secret;
  /** An ID token that has not expired is wanted too. */
  readonly idToken?: boolean;
}

/** The tokens that users' logins at upstream providers have left behind. Filled by the embedded authorization server. */
export interface UpstreamTokens {
  /**
   * A token that is fresh, refreshed when need be, at once when it is at hand. Throws or rejects with `CredentialError`:
   * `reauthenticate` when there is none or its grant is dead, `forbidden` when logins of this user leave the provider out,
   * `unavailable` when the provider cannot be asked, `store_unavailable` when the store cannot. While a token stays the
   * same, so do the objects that hold its texts.
   */
  get(owner: UpstreamTokenOwner, provider: string, need?: UpstreamTokenNeed): UpstreamToken | Promise<UpstreamToken>;
}
