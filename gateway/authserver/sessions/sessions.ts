import type { UpstreamTokens } from '../../outgoing/upstream-tokens.ts';
import type { FamilyRef } from '../storage/records.ts';

/** Whether the login behind an access token still counts. */
export interface LoginLiveness {
  /**
   * At once when it was looked up less than 5 s ago. False: over, revoked, or of another user or client.
   * Rejects with `StoreUnavailable`.
   */
  isLive(login: {
    readonly tsid: string;
    readonly userId: string;
    readonly clientId: string;
  }): boolean | Promise<boolean>;
  /** The login has ended by a request to this process: no token of it counts from now on. */
  forget(tsid: string): void;
}

/** Logins after their code was redeemed: whether they live, what they hold upstream, how they end. */
export interface Sessions {
  readonly liveness: LoginLiveness;
  readonly upstreamTokens: UpstreamTokens;
  /**
   * Ends a login: family, refresh tokens, access tokens, stored upstream tokens; then, best effort and not waited for,
   * the tokens at the providers. Rejects with `StoreUnavailable` when the family could not be ended.
   */
  end(ref: FamilyRef): Promise<void>;
  /** As `end`, for every login of a client. */
  endAllOf(clientId: string): Promise<void>;
  /**
   * Why a refresh of this login would help nobody, asked before its refresh token is rotated. A first provider whose
   * token has run out is asked now; trouble that may pass does not count. @see contract/auth.md 2.5 no. 7
   */
  isUpstreamDead(tsid: string): Promise<boolean>;
}
