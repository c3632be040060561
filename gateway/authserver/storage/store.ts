import type {
  Client,
  CodeGrant,
  Family,
  FamilyRef,
  LivenessRecord,
  LoginAttempt,
  UpstreamRow,
  User,
} from './records.ts';

/**
 * The store did not answer, or its answer cannot be trusted. Endpoints answer 503 with Retry-After, never 401.
 * `message` is for the log and contains no value of any record.
 */
export class StoreUnavailable extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StoreUnavailable';
  }
}

/**
 * Records of the authorization server that outlive a request. Every method rejects with `StoreUnavailable` when the store
 * does not answer within its time limit. `...Ms` is a duration from now. Callers pass handles, codes and refresh tokens
 * in clear; only their SHA-256 leaves the process. Expired records are treated as missing.
 */
export interface Store {
  readonly loginAttempts: LoginAttempts;
  readonly codes: Codes;
  readonly families: Families;
  readonly live: LivenessReader;
  readonly clients: ClientStore;
  readonly users: Users;
  readonly upstreamTokens: UpstreamRows;
  readonly registrations: Registrations;
  readonly locks: Locks;
  readonly rates: Rates;
  /** Resolves when the store answers. */
  health(): Promise<void>;
  close(): Promise<void>;
}

export type OwnLoginAttempt =
  | { readonly kind: 'taken'; readonly attempt: LoginAttempt }
  /** Not taken: no leg is running, or the attempt belongs to another browser. */
  | { readonly kind: 'foreign'; readonly attempt: LoginAttempt }
  | { readonly kind: 'unknown' };

/** Login attempts by handle. The handle changes with every step: the id of the consent page, then the `state` of each leg. */
export interface LoginAttempts {
  /** Returns false and writes nothing when the handle is in use or there is no room. Never evicts another attempt. */
  put(handle: string, attempt: LoginAttempt, ttlMs: number): Promise<boolean>;
  /** Reads an attempt without taking it, for pages that may be reloaded. */
  get(handle: string): Promise<LoginAttempt | undefined>;
  /** Removes and returns an attempt. Exactly one of several concurrent callers gets it. */
  take(handle: string): Promise<LoginAttempt | undefined>;
  /** Takes an attempt with a running leg for the browser that it belongs to, which has a cookie with one of these hashes. */
  takeOwn(handle: string, cookieHashes: readonly string[]): Promise<OwnLoginAttempt>;
}

export type TakenCode =
  | { readonly kind: 'taken'; readonly grant: CodeGrant }
  /** Taken before: `family` should be revoked (RFC 6749 §4.1.2). */
  | { readonly kind: 'used'; readonly family: FamilyRef }
  | { readonly kind: 'unknown' };

export interface Codes {
  /** Returns false and writes nothing when the code exists. */
  put(code: string, grant: CodeGrant, ttlMs: number): Promise<boolean>;
  /** Removes and returns a grant. One of several concurrent callers gets it; the others get `used` for `markerMs`. */
  take(code: string, markerMs: number): Promise<TakenCode>;
}

/** Lifetimes of the records of a family. */
export interface FamilySpans {
  /** Time without a refresh after which the family expires. */
  readonly idleMs: number;
  /** Lifetime of the liveness record: longer than that of access tokens. */
  readonly liveMs: number;
}

export interface RotationRequest extends FamilySpans {
  readonly family: FamilyRef;
  /** Refresh token that the client presents. */
  readonly token: string;
  /** Refresh token that replaces it. */
  readonly successor: string;
  /** Time in which the same token may be presented again; 0 for never. */
  readonly graceMs: number;
}

export type Rotation =
  | { readonly kind: 'rotated'; readonly family: Family }
  /** Presented again within `graceMs`, after a lost reply or by a concurrent process: `successor` is the token issued then. */
  | { readonly kind: 'replayed'; readonly family: Family; readonly successor: string }
  /** Presented again after `graceMs`: this call has revoked the family. */
  | { readonly kind: 'reused'; readonly family: Family }
  /** Expired, revoked or of another family. */
  | { readonly kind: 'unknown' };

interface FoundFamily {
  readonly family: Family;
  /** True when the token is the latest one of the family. */
  readonly current: boolean;
}

export interface Families {
  /**
   * Creates the family, its first refresh token (if any) and its liveness atomically. Returns false and writes nothing
   * when the family exists, or when a replay of its code revoked it before.
   */
  create(family: Family, token: string | undefined, spans: FamilySpans): Promise<boolean>;
  /** Finds the family of a refresh token without using up the token. */
  find(token: string): Promise<FoundFamily | undefined>;
  /** Rotates atomically: of concurrent rotations of one token, one is `rotated`, the others are `replayed`. */
  rotate(request: RotationRequest): Promise<Rotation>;
  get(id: string): Promise<Family | undefined>;
  /** Lists the families that are not revoked. */
  ofUser(userId: string): Promise<FamilyRef[]>;
  ofClient(clientId: string): Promise<FamilyRef[]>;
  /**
   * Revokes the family, its refresh tokens and its liveness atomically. `create` then rejects the family for `keepMs`,
   * even if it did not exist yet.
   */
  revoke(ref: FamilyRef, keepMs: number): Promise<void>;
}

export interface LivenessReader {
  /** Returns undefined when the login has ended, expired or never existed: its tokens are invalid. */
  get(tsid: string): Promise<LivenessRecord | undefined>;
}

export type Registration =
  | { readonly kind: 'registered' }
  /** The limit is reached; there is room after this time. */
  | { readonly kind: 'full'; readonly retryAfterMs: number }
  | { readonly kind: 'exists' };

export interface ClientStore {
  /**
   * Registers a client, which counts towards `max` (0: no limit) until it expires. At the limit, the oldest client that was
   * never renewed is removed if it was registered at least `keepMs` ago. Renewed clients are never removed.
   */
  register(client: Client, ttlMs: number, max: number, keepMs?: number): Promise<Registration>;
  /**
   * Stores the copy of a client metadata document, which does not count towards the limit. A later expiry of the present
   * copy is kept, because each login stores a copy and must not shorten what `renew` extended.
   */
  put(client: Client, ttlMs: number): Promise<void>;
  get(clientId: string): Promise<Client | undefined>;
  /** Extends the lifetime of a client that is used. Returns false when there is none. */
  renew(clientId: string, ttlMs: number): Promise<boolean>;
  delete(clientId: string): Promise<boolean>;
  /** Counts the registered clients. */
  count(): Promise<number>;
}

export interface Users {
  /** Returns the user with this provider and subject; creates `candidate` if there is none. Concurrent callers get one user. */
  resolve(candidate: User): Promise<User>;
  get(id: string): Promise<User | undefined>;
}

export interface UpstreamRows {
  put(row: UpstreamRow, ttlMs: number): Promise<void>;
  /**
   * Replaces an existing row while `lock` is held, so that a late refresh changes nothing. Keeps the expiry of the row.
   */
  replace(row: UpstreamRow, lock: Lock): Promise<boolean>;
  get(tsid: string, provider: string): Promise<UpstreamRow | undefined>;
  all(tsid: string): Promise<UpstreamRow[]>;
  /** Extends the rows of the login at these providers to at least this lifetime. */
  extend(tsid: string, providers: readonly string[], ttlMs: number): Promise<void>;
  /** Deletes one row, or all rows of the login. */
  delete(tsid: string, provider?: string): Promise<void>;
  /** Returns the row of this user's latest login at the provider, ignoring rows without an access token. */
  latestForUser(userId: string, provider: string): Promise<UpstreamRow | undefined>;
}

/** Registrations of the gateway at providers, as JSON. They are secrets, sealed in the store, and do not expire. */
export interface Registrations {
  get(key: string): Promise<string | undefined>;
  put(key: string, text: string): Promise<void>;
  delete(key: string): Promise<void>;
}

/** Lock that one process holds until it expires. `fence` identifies the holder. */
export interface Lock {
  readonly name: string;
  readonly fence: string;
}

export interface Locks {
  /** Returns undefined when the lock is held. */
  acquire(name: string, ttlMs: number): Promise<Lock | undefined>;
  /** Extends the lock. Returns false when it had expired. */
  renew(lock: Lock, ttlMs: number): Promise<boolean>;
  /** Releases the lock. Returns false when it had expired; another process may hold it now. */
  release(lock: Lock): Promise<boolean>;
}

/** Returns the name of the lock for refreshing one upstream row. */
export const upstreamLock = (tsid: string, provider: string): string => `up:${tsid}:${provider}`;

export interface RateLimit {
  /** Uses that a full bucket allows at once. */
  readonly capacity: number;
  /** Uses that are added per second. */
  readonly perSecond: number;
}

type RateDecision = { readonly allowed: true } | { readonly allowed: false; readonly retryAfterSeconds: number };

/** Returns the time in which one use is added, in whole milliseconds. */
export const msPerUse = ({ perSecond }: RateLimit): number => Math.max(1, Math.ceil(1_000 / perSecond));

export interface Rates {
  /** Takes one use from the bucket of `key`. A rejected use does not count. */
  take(bucket: string, key: string, limit: RateLimit): Promise<RateDecision>;
}
