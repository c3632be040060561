import type { Account } from './budgets/account.ts';
import type { CallCount } from './budgets/calls-in-progress.ts';
import { SessionStreams } from './edge/session-streams.ts';
import { ServerRequests } from './server-requests.ts';
import { Subscriptions } from './subscriptions.ts';
import { ANONYMOUS, type Identity } from '../contract/identity.ts';
import type { Span } from '../http/json-walk.ts';
import type { ClientInfo } from '../policy/policy.ts';
import { isModern } from './era.ts';
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
  readonly revision: string;
  readonly client: ClientInfo;
  /** Index of `LOG_LEVELS`: messages below it are not relayed. -1: relay all. */
  logLevel: number;
  /** ms since the epoch. */
  readonly startedAt: number;
  /** ms since the epoch. */
  lastSeenAt: number;
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
  /** Called once for every session that ends. */
  readonly onEnd: (session: Session, reason: SessionEnd) => void;
}

/** Why a session ended. */
export type SessionEnd =
  | 'deleted' // by its client
  | 'stream_closed' // the stream of a client of 2024-11-05
  | 'expired'
  | 'limit' // a newer session took its place
  | 'closed'; // by the gateway: it stops, or has other rules for clients

const NO_SESSIONS: ReadonlySet<Session> = new Set();

/**
 * Most sessions of one principal: its next session ends its own oldest. Not applied to anonymous clients, who are many
 * users.
 */
const PER_PRINCIPAL = 1_000;

const TOUCH_EVERY_MS = 10_000;

/** Returns true while the client receives notifications that belong to no call. */
export const isListening = ({ streams, listeners }: Session): boolean =>
  streams.main.connected || listeners !== undefined;

const isBusy = (session: Session): boolean => session.running.size > 0 || isListening(session);

/** Live sessions of one virtual server. At the limit the least recently used session ends. */
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

  create(principal: string, client: ClientFacts): Session {
    const account = this.#options.accountOf(principal);
    const session: Session = {
      id: this.#options.newId(),
      principal,
      account,
      calls: account.calls(),
      identity: undefined,
      pendingChallenge: undefined,
      ...client,
      logLevel: -1,
      startedAt: this.#options.now(),
      lastSeenAt: this.#options.now(),
      ended: false,
      channels: new Map(),
      running: new RunningCalls(),
      requests: new ServerRequests(),
      streams: new SessionStreams(account),
      subscriptions: new Subscriptions(account.subscriptions()),
      seen: undefined,
      listeners: undefined,
    };
    this.#live.set(session.id, session);
    if (isModern(session.revision)) this.#hidden += 1;
    const own = this.#byPrincipal.get(principal);
    if (own) own.add(session);
    else this.#byPrincipal.set(principal, new Set([session]));
    const crowd = this.#byPrincipal.get(principal);
    if (principal !== ANONYMOUS && crowd && crowd.size > PER_PRINCIPAL) this.#endOldest(session, crowd);
    if (this.#live.size > this.#options.limit) this.#endOldest(session, this.#live.values());
    return session;
  }

  /** Ends the oldest session, busy sessions last: a flood of new sessions must not end those in use. */
  #endOldest(newest: Session, crowd: Iterable<Session>): void {
    let oldest: Session | undefined;
    for (const session of crowd) {
      if (session === newest) break;
      oldest ??= session;
      if (isBusy(session)) continue;
      this.end(session, 'limit');
      return;
    }
    if (oldest) this.end(oldest, 'limit');
  }

  /** Returns the session with this id when `principal` owns it; undefined for unknown, ended and foreign ids alike. */
  find(id: string, principal: string): Session | undefined {
    const session = this.#known(id);
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
    if (idleMs > this.ttlMs && !isBusy(session)) {
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
    return this.#known(id) !== undefined;
  }

  #known(id: string): Session | undefined {
    const session = this.#live.get(id);
    return session && isModern(session.revision) ? undefined : session;
  }

  end(session: Session, reason: SessionEnd): void {
    if (session.ended) return;
    session.ended = true;
    this.#live.delete(session.id);
    if (isModern(session.revision)) this.#hidden -= 1;
    const own = this.#byPrincipal.get(session.principal);
    own?.delete(session);
    if (own?.size === 0) this.#byPrincipal.delete(session.principal);
    session.calls.close();
    this.#options.onEnd(session, reason);
  }

  /** Ends sessions idle for longer than the TTL. An open stream or a running call keeps a session alive. */
  sweep(): void {
    const oldest = this.#options.now() - this.ttlMs;
    for (const [, session] of this.#live) {
      if (session.lastSeenAt < oldest && !isBusy(session)) this.end(session, 'expired');
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

/** Closes the session's channel to one backend. */
export function closeChannel(session: Session, backend: string): void {
  const held = session.channels.get(backend);
  if (!held) return;
  session.channels.delete(backend);
  void held.channel?.close();
}

/** Closes channels that were last used before `before` (ms since the epoch) and hold no subscription. */
export function closeIdleChannels(session: Session, before: number): void {
  if (session.running.size > 0) return;
  const subscribed = session.subscriptions.backends();
  for (const [name, { lastUsedAt }] of session.channels)
    if (lastUsedAt < before && !subscribed.has(name)) closeChannel(session, name);
}
