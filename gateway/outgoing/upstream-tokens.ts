import type { Secret } from '../contract/identity.ts';

/** Key of stored upstream tokens: all three members must match the stored row. */
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
  /** Access token that a backend has rejected and that must be replaced. */
  readonly refused?: Secret;
  /** True when a valid ID token is needed too. */
  readonly idToken?: boolean;
}

/** Upstream tokens of users' logins. The embedded authorization server stores them. */
export interface UpstreamTokens {
  /**
   * Returns a valid token, refreshed if needed; synchronously when cached. Throws or rejects with `CredentialError`:
   * `reauthenticate` when there is none or its grant is revoked, `forbidden` when the user has no access to the provider,
   * `unavailable` when the provider is down, `store_unavailable` when the store is down. While a token stays the
   * same, the returned objects stay the same.
   */
  get(owner: UpstreamTokenOwner, provider: string, need?: UpstreamTokenNeed): UpstreamToken | Promise<UpstreamToken>;
}
