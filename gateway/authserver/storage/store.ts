import type { Client } from './client.ts';
import type { CodeGrant, Family, FamilyRef, Liveness, Transaction, UpstreamRow, User } from './records.ts';

/**
 * No answer, or none that can be trusted: the caller answers 503 with Retry-After, never 401.
 * `message` is for the log and holds no value of any record.
 */
export class StoreUnavailable extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StoreUnavailable';
  }
}

/**
 * Where the authorization server keeps what outlives a request. Every method rejects with `StoreUnavailable` when the
 * store cannot answer, within its time limits. `...Ms` is how long from now. Handles, codes and refresh tokens are
 * given as the client holds them and leave the process as SHA-256 only. What has expired is not there.
 */
export interface Store {
  readonly transactions: Transactions;
  readonly codes: Codes;
  readonly families: Families;
  readonly live: LivenessReader;
  readonly clients: Clients;
  readonly users: Users;
  readonly upstreamTokens: UpstreamRows;
  readonly locks: Locks;
  readonly rates: Rates;
  /** Resolves when the store answers. */
  health(): Promise<void>;
  close(): Promise<void>;
}

export type OwnTransaction =
  | { readonly kind: 'taken'; readonly transaction: Transaction }
  /** It is where it was: no leg is under way in it, or it belongs to another browser. */
  | { readonly kind: 'foreign'; readonly transaction: Transaction }
  | { readonly kind: 'unknown' };

/** Visits of browsers by a handle that changes with every step: the id of the consent page, then the `state` of each leg. */
export interface Transactions {
  /** False, and nothing written: the handle is in use, or there is no room. Nothing is pushed out. */
  put(handle: string, transaction: Transaction, ttlMs: number): Promise<boolean>;
  /** Leaves it where it is: for pages that may be loaded again. */
  get(handle: string): Promise<Transaction | undefined>;
  /** Of many concurrent takers one gets it. */
  take(handle: string): Promise<Transaction | undefined>;
  /** As `take`, while a leg is under way, for the browser that the visit belongs to: who has a cookie of its hash. */
  takeOwn(handle: string, cookieHashes: readonly string[]): Promise<OwnTransaction>;
}

export type TakenCode =
  | { readonly kind: 'taken'; readonly grant: CodeGrant }
  /** Taken before: RFC 6749 §4.1.2 wants `family` revoked. */
  | { readonly kind: 'used'; readonly family: FamilyRef }
  | { readonly kind: 'unknown' };

export interface Codes {
  /** False, and nothing written: the code is in use. */
  put(code: string, grant: CodeGrant, ttlMs: number): Promise<boolean>;
  /** Of many concurrent takers one gets the grant; the others learn for `markerMs` that it was used. */
  take(code: string, markerMs: number): Promise<TakenCode>;
}

/** How long what a family consists of is kept. */
export interface FamilySpans {
  /** Until the family dies of disuse. */
  readonly idleMs: number;
  /** Until its access tokens no longer count: more than they live. */
  readonly liveMs: number;
}

export interface RotationRequest extends FamilySpans {
  readonly family: FamilyRef;
  /** Refresh token that the client presents. */
  readonly token: string;
  /** Refresh token that takes its place. */
  readonly successor: string;
  /** How long the same token may be presented again; 0: never. */
  readonly graceMs: number;
}

export type Rotation =
  | { readonly kind: 'rotated'; readonly family: Family }
  /** Presented again within the window, as lost replies and concurrent processes do: `successor` is the one given before. */
  | { readonly kind: 'replayed'; readonly family: Family; readonly successor: string }
  /** Presented again outside of the window: the family has just been revoked. */
  | { readonly kind: 'reused'; readonly family: Family }
  /** Expired, revoked, or not of this family. */
  | { readonly kind: 'unknown' };

export interface FoundFamily {
  readonly family: Family;
  /** The token is the family's latest one. */
  readonly current: boolean;
}

export interface Families {
  /**
   * Makes the family, its first refresh token (if it has one) and its liveness in one step. False, and nothing written:
   * it was made before, or revoked before it was made, by a replay of its code.
   */
  create(family: Family, token: string | undefined, spans: FamilySpans): Promise<boolean>;
  /** The family of a refresh token, by which a request is judged before its token is used up. */
  find(token: string): Promise<FoundFamily | undefined>;
  /** One step: of concurrent rotations of one token one is `rotated`, the others are `replayed`. Never past a revocation. */
  rotate(request: RotationRequest): Promise<Rotation>;
  get(id: string): Promise<Family | undefined>;
  /** Those that are not revoked. */
  ofUser(userId: string): Promise<FamilyRef[]>;
  ofClient(clientId: string): Promise<FamilyRef[]>;
  /**
   * Family, refresh tokens and liveness in one step; also before the family is made, which is then refused for `keepMs`.
   */
  revoke(ref: FamilyRef, keepMs: number): Promise<void>;
}

export interface LivenessReader {
  /** Undefined: over, forgotten or never begun; no token of it counts. */
  get(tsid: string): Promise<Liveness | undefined>;
}

export type Registration =
  | { readonly kind: 'registered' }
  /** As many as may be are registered; after this time there is room again. */
  | { readonly kind: 'full'; readonly retryAfterMs: number }
  | { readonly kind: 'exists' };

export interface Clients {
  /**
   * Counts towards `max` (0: no limit) while it lives. At the limit, the oldest client that was never renewed makes room
   * if it was registered `keepMs` ago or earlier; clients in use are never pushed out.
   */
  register(client: Client, ttlMs: number, max: number, keepMs?: number): Promise<Registration>;
  /**
   * Keeps or replaces a copy that does not count: a client metadata document. What is kept for longer already stays as
   * long: a copy is made anew at each login, and must not end what use has prolonged.
   */
  put(client: Client, ttlMs: number): Promise<void>;
  get(clientId: string): Promise<Client | undefined>;
  /** On use: from now on it lives this long. False: there is none. */
  renew(clientId: string, ttlMs: number): Promise<boolean>;
  delete(clientId: string): Promise<boolean>;
  /** Registered ones that live. */
  count(): Promise<number>;
}

export interface Users {
  /** The user of this provider and subject, `candidate` when there was none. Concurrent callers get the same one. */
  resolve(candidate: User): Promise<User>;
  get(id: string): Promise<User | undefined>;
}

export interface UpstreamRows {
  put(row: UpstreamRow, ttlMs: number): Promise<void>;
  /**
   * Only over a row that is still there, and only while `lock` is held: a refresh that comes late changes nothing. The
   * row ends when the one before would have.
   */
  replace(row: UpstreamRow, lock: Lock): Promise<boolean>;
  get(tsid: string, provider: string): Promise<UpstreamRow | undefined>;
  all(tsid: string): Promise<UpstreamRow[]>;
  /** Lets the login's rows of these providers live this long at least. */
  extend(tsid: string, providers: readonly string[], ttlMs: number): Promise<void>;
  /** One row, or all of the login. */
  delete(tsid: string, provider?: string): Promise<void>;
  /** The row of this user's latest login at the provider; rows without an access token do not count. */
  latestForUser(userId: string, provider: string): Promise<UpstreamRow | undefined>;
}

/** A right that one process holds for a while. `fence` tells this holder from later ones. */
export interface Lock {
  readonly name: string;
  readonly fence: string;
}

export interface Locks {
  /** Undefined: somebody else holds it. */
  acquire(name: string, ttlMs: number): Promise<Lock | undefined>;
  /** From now on it is held this long. False: it had run out. */
  renew(lock: Lock, ttlMs: number): Promise<boolean>;
  /** False: it had run out, and may be somebody else's by now. */
  release(lock: Lock): Promise<boolean>;
}

/** Name of the lock under which one upstream row is refreshed. */
export const upstreamLock = (tsid: string, provider: string): string => `up:${tsid}:${provider}`;

export interface RateLimit {
  /** Uses that may come at once. */
  readonly capacity: number;
  /** How fast uses come back. */
  readonly perSecond: number;
}

export type RateDecision = { readonly allowed: true } | { readonly allowed: false; readonly retryAfterSeconds: number };

/** Whole, as stores count milliseconds. */
export const msPerUse = ({ perSecond }: RateLimit): number => Math.max(1, Math.ceil(1_000 / perSecond));

export interface Rates {
  /** One use of the bucket; a refused one does not count. Whose use it is, `key` says. */
  take(bucket: string, key: string, limit: RateLimit): Promise<RateDecision>;
}
