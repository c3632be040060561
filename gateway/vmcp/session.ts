import type { Account } from './budgets/account.ts';
import type { CallCount } from './budgets/calls-in-progress.ts';
import { SessionStreams, type SharedStreams } from './edge/session-streams.ts';
import { ServerRequests } from './server-requests.ts';
import { Subscriptions } from './subscriptions.ts';
import { ANONYMOUS, type Identity } from '../contract/identity.ts';
import type { Span } from '../http/json-walk.ts';
import type { ClientInfo } from '../policy/policy.ts';
import { isSessionless } from '../contract/protocol/revisions.ts';
import { RunningCalls } from './running-calls.ts';
import type { Channel } from './transport/channel.ts';

/** One backend's channel in a session: open or opening. */
export interface SessionChannel {
  channel: Channel | undefined;
  opening: Promise<Channel> | undefined;
  lastUsedAt: number;
}

/**
 * State of one client session: plain data, and the connections that this process has for it. Requests of a revision
 * without sessions share one as long as client, user and rights are the same; clients do not know its id.
 */
export interface Session {
  readonly id: string;
  /** Issuer and subject of the owner, or `anonymous`. Other principals cannot use the session. */
  readonly principal: string;
  /** Budgets of the principal. */
  readonly account: Account;
  /** Count of the calls in progress of the principal. */
  readonly calls: CallCount;
  /** Identity that the latest request of the session proved; undefined: anonymous. */
  identity: Identity | undefined;
  /** Reason for a new login that could not be sent on an open stream. The next request is answered with it. */
  pendingChallenge: string | undefined;
  /** State of a session that replicas share; undefined for one of this process alone. */
  readonly shared: SharedState | undefined;
  readonly revision: string;
  readonly client: ClientInfo;
  /** Index of `LOG_LEVELS`: messages below it are not relayed. -1: relay all. */
  logLevel: number;
  /** ms since the epoch. */
  readonly startedAt: number;
  /** ms since the epoch. */
  lastSeenAt: number;
  /** True when the client has sent a request after `initialize`. */
  isUsed: boolean;
  ended: boolean;
  readonly channels: Map<string, SessionChannel>;
  readonly running: RunningCalls;
  /** JSON text of the client capabilities that the gateway declares to backends. */
  readonly capabilities: string;
  /** Names of these capabilities. */
  readonly offers: ReadonlySet<string>;
  /** Requests of backends that the client has not answered. */
  readonly requests: ServerRequests;
  readonly streams: SessionStreams;
  readonly subscriptions: Subscriptions;
  /** Digests of the lists at the last notification of the client. */
  seen: ListDigests | undefined;
  /** Streams of `subscriptions/listen`; undefined while there are none. */
  listeners: Set<Listener> | undefined;
}

/** State of a session that replicas share, as this process knows it. */
export interface SharedState {
  /** ms since the epoch at which the store last had the session. */
  confirmedAt: number;
  /** The question to the store that is under way. */
  confirming: Promise<boolean> | undefined;
  /** Replica with the client's stream for messages that belong to no call; undefined: none had it. */
  holder: string | undefined;
  /** Number of times that this stream has changed its replica: messages about earlier ones arrive late. */
  turn: number;
  /**
   * Connection with which a session of HTTP+SSE (2024-11-05) ends: in this process, or the way to it. Undefined for a
   * session of streamable HTTP.
   */
  readonly connection: 'here' | RemoteConnection | undefined;
  readonly streams: SharedStreams;
}

/** Connection of a client of HTTP+SSE (2024-11-05) to another replica. Requests are named by the JSON text of their id. */
export interface RemoteConnection {
  /** Sends a message to the client. `answers` is the request whose reply it is. */
  send(message: Buffer, answers?: string): void;
  /** Lets the other replica know of a request that runs here: it answers an error when this process stops. */
  begin(request: string): void;
  /** Ends a request without a reply. */
  drop(request: string): void;
  /** Ends the session here unless the connection is open. Rejects with `KeyValueStoreUnavailable`. */
  state(): RemoteState | Promise<RemoteState>;
  /** Ends the session when the connection is closed, in the background. */
  check(): void;
}

/** State of a connection at another replica. `waiting`: it has no session yet. */
export type RemoteState = 'open' | 'waiting' | 'closed';

/** Returns the connection of a client of HTTP+SSE (2024-11-05) that another replica has. */
export function remoteConnectionOf({ shared }: Session): RemoteConnection | undefined {
  return shared?.connection === 'here' ? undefined : shared?.connection;
}

/** A stream of `subscriptions/listen`. */
export interface Listener {
  /** Called when the lists of the session may have changed. */
  changed(lists: ListDigests): void;
  /** Called with a `notifications/resources/updated` of a resource. */
  updated(uri: string, message: Buffer, params: Span): void;
  /** Returns true when `updated` sends notifications of this resource. */
  wants(uri: string): boolean;
  /** Called when other policies decide: ends a stream that they have to allow again. */
  policiesChanged(): void;
  /** Ends the stream. */
  end(): void;
}

/** One digest per list with change notifications; equal digests mean equal lists. */
export interface ListDigests {
  readonly tools: string;
  readonly resources: string;
  readonly prompts: string;
}

/** Client data from `initialize`. */
export interface ClientFacts {
  readonly revision: string;
  readonly capabilities: string;
  readonly offers: ReadonlySet<string>;
  readonly client: ClientInfo;
}

export interface SessionsOptions {
  readonly ttlMs: number;
  readonly limit: number;
  readonly now: () => number;
  readonly newId: () => string;
  readonly accountOf: (principal: string) => Account;
  /** Called when a client presents the session id of another principal; the id may be stolen. */
  readonly onForeign: () => void;
  /** Prepares a session for several replicas; undefined for one of this process alone. */
  readonly share?: ((id: string) => SharedState | undefined) | undefined;
  /** Called for an idle session that replicas share: only the store knows whether another replica uses it. */
  readonly onIdle?: ((session: Session) => void) | undefined;
  /** Called once for every session that ends. */
  readonly onEnd: (session: Session, reason: SessionEnd) => void;
}

/** Why a session ended. */
export type SessionEnd =
  | 'deleted' // by its client
  | 'stream_closed' // the stream of a client of 2024-11-05
  | 'expired'
  | 'limit' // a newer session took its place; of one that replicas share maybe only its copy here ends
  | 'closed' // by the gateway: it stops, or has other rules for clients
  | 'released'; // only here: other replicas go on with it, or have ended it

/** All sessions of a principal, or of all clients, are busy: another one has no place. */
export class TooManySessions extends Error {
  readonly of: 'principal' | 'all';
  constructor(of: 'principal' | 'all') {
    super(of === 'principal' ? YOURS : EVERYBODYS);
    this.name = TooManySessions.name;
    this.of = of;
  }
}

const YOURS = 'your account has too many sessions in use: end some, or try again later';
const EVERYBODYS = 'too many sessions are in use: try again later';

const NO_SESSIONS: ReadonlySet<Session> = new Set();

/**
 * Most sessions of one principal: its next session ends its own oldest idle one. Not applied to anonymous clients, who
 * are many users.
 */
const PER_PRINCIPAL = 1_000;

const TOUCH_EVERY_MS = 10_000;

const UNUSED_TTL_MS = 300_000;

/** Returns true while the client receives notifications that belong to no call. */
export const isListening = ({ streams, listeners }: Session): boolean =>
  streams.main.connected || listeners !== undefined;

/**
 * Returns true while messages of backends that belong to no call are received here: the client listens, or other
 * replicas send it the log of its stream, which this one holds, when it connects.
 */
export const receivesMessages = (session: Session): boolean =>
  isListening(session) || (session.shared !== undefined && session.shared.holder === session.shared.streams.replica);

/** Returns true while a call runs or the client listens. */
export const isBusy = (session: Session): boolean => session.running.size > 0 || isListening(session);

/** Live sessions of one virtual server. At the limit the least recently used idle session ends. */
export class Sessions {
  /** Idle time after which a session ends. */
  ttlMs: number;
  readonly #options: SessionsOptions;
  /** Ordered by last use, with a precision of `TOUCH_EVERY_MS`. */
  readonly #live = new Map<string, Session>();
  readonly #byPrincipal = new Map<string, Set<Session>>();
  #hidden = 0;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.ttlMs = options.ttlMs;
  }

  /** Number of sessions that clients have opened. */
  get size(): number {
    return this.#live.size - this.#hidden;
  }

  /** Number of sessions that requests of a revision without sessions share. */
  get hidden(): number {
    return this.#hidden;
  }

  /**
   * Throws `TooManySessions` when there is no place for another one because all are busy. `connection` is the id of a
   * session of HTTP+SSE (2024-11-05) that replicas share.
   */
  create(principal: string, client: ClientFacts, connection?: string): Session {
    const { limit, newId, now, share } = this.#options;
    if (principal !== ANONYMOUS && !this.#makeRoom(this.ofPrincipal(principal), PER_PRINCIPAL))
      throw new TooManySessions('principal');
    if (!this.#makeRoom(this.#live, limit)) throw new TooManySessions('all');
    const id = connection ?? newId();
    const shared = isSessionless(client.revision) ? undefined : share?.(id);
    return this.#add(id, principal, client, now(), shared);
  }

  /** Adds a session that the client has opened at another replica. Ends idle ones as `create` does, but never throws. */
  restore(id: string, principal: string, client: ClientFacts, startedAt: number): Session {
    if (principal !== ANONYMOUS) this.#makeRoom(this.ofPrincipal(principal), PER_PRINCIPAL);
    this.#makeRoom(this.#live, this.#options.limit);
    return this.#add(id, principal, client, startedAt, this.#options.share?.(id));
  }

  #add(
    id: string,
    principal: string,
    client: ClientFacts,
    startedAt: number,
    shared: SharedState | undefined,
  ): Session {
    const account = this.#options.accountOf(principal);
    const session: Session = {
      id,
      principal,
      account,
      calls: account.calls(),
      identity: undefined,
      pendingChallenge: undefined,
      shared,
      ...client,
      logLevel: -1,
      startedAt,
      lastSeenAt: this.#options.now(),
      isUsed: false,
      ended: false,
      channels: new Map(),
      running: new RunningCalls(),
      requests: new ServerRequests(shared?.streams.replica),
      streams: new SessionStreams(account, shared?.streams),
      subscriptions: new Subscriptions(account.subscriptions()),
      seen: undefined,
      listeners: undefined,
    };
    this.#live.set(session.id, session);
    if (isSessionless(session.revision)) this.#hidden += 1;
    const own = this.#byPrincipal.get(principal);
    if (own) own.add(session);
    else this.#byPrincipal.set(principal, new Set([session]));
    return session;
  }

  /** Ends the oldest idle session when `limit` is reached. Returns false when all are busy: those in use stay. */
  #makeRoom(crowd: Pick<ReadonlySet<Session>, 'size' | 'values'>, limit: number): boolean {
    if (crowd.size < limit) return true;
    for (const session of crowd.values()) {
      if (isBusy(session)) continue;
      this.end(session, remoteConnectionOf(session) ? 'released' : 'limit');
      return true;
    }
    return false;
  }

  /** Returns the session with this id when `principal` owns it; undefined for unknown, ended and foreign ids alike. */
  find(id: string, principal: string): Session | undefined {
    const session = this.known(id);
    if (session?.principal !== principal) {
      if (session) this.#options.onForeign();
      return undefined;
    }
    return this.use(session) ? session : undefined;
  }

  /** Records that a request uses the session. Returns false when it has ended or expired. */
  use(session: Session): boolean {
    if (session.ended) return false;
    const now = this.#options.now();
    const idleMs = now - session.lastSeenAt;
    if (idleMs <= Math.min(TOUCH_EVERY_MS, this.ttlMs / 4)) return true;
    if (idleMs > this.ttlMs && !session.shared && !isBusy(session)) {
      this.end(session, 'expired');
      return false;
    }
    session.lastSeenAt = now;
    this.#live.delete(session.id);
    this.#live.set(session.id, session);
    return true;
  }

  /** Returns true for the id of a live session of any principal. */
  has(id: string): boolean {
    return this.known(id) !== undefined;
  }

  /** Returns the live session with this id, of any principal. */
  known(id: string): Session | undefined {
    const session = this.#live.get(id);
    return session && isSessionless(session.revision) ? undefined : session;
  }

  end(session: Session, reason: SessionEnd): void {
    if (session.ended) return;
    session.ended = true;
    this.#live.delete(session.id);
    if (isSessionless(session.revision)) this.#hidden -= 1;
    const own = this.#byPrincipal.get(session.principal);
    own?.delete(session);
    if (own?.size === 0) this.#byPrincipal.delete(session.principal);
    session.calls.close();
    this.#options.onEnd(session, reason);
  }

  /**
   * Time without a message of the client after which a session ends that no request has used: some clients open sessions that they
   * leave at once.
   */
  get unusedTtlMs(): number {
    return Math.min(this.ttlMs / 4, UNUSED_TTL_MS);
  }

  /** Ends sessions idle for longer than the TTL. An open stream or a running call keeps a session alive. */
  sweep(): void {
    const now = this.#options.now();
    for (const [, session] of this.#live) {
      if (isBusy(session)) session.lastSeenAt = now; // a client that loses its stream has time to connect again
      if (now - session.lastSeenAt <= (session.isUsed ? this.ttlMs : this.unusedTtlMs)) continue;
      if (session.shared) this.#options.onIdle?.(session);
      else this.end(session, 'expired');
    }
  }

  /** Returns the live sessions of one principal. */
  ofPrincipal(principal: string): ReadonlySet<Session> {
    return this.#byPrincipal.get(principal) ?? NO_SESSIONS;
  }

  all(): IterableIterator<Session> {
    return this.#live.values();
  }
}

/** Closes the session's channel to one backend. Other replicas go on with the session there when `released` is true. */
export function closeChannel(session: Session, backend: string, released = false): void {
  const held = session.channels.get(backend);
  if (!held) return;
  session.channels.delete(backend);
  if (released && held.channel?.session && held.channel.release) held.channel.release();
  else void held.channel?.close();
}

/**
 * Closes channels that were last used before `before` (ms since the epoch) and hold no subscription. The replica with the
 * client's stream keeps them: it listens there, while the calls are made at others.
 */
export function closeIdleChannels(session: Session, before: number): void {
  if (session.running.size > 0 || (session.shared && session.streams.main.connected)) return;
  const subscribed = session.subscriptions.backends();
  for (const [name, { lastUsedAt }] of session.channels)
    if (lastUsedAt < before && !subscribed.has(name)) closeChannel(session, name, session.shared !== undefined);
}
