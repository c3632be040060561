import type { Account } from './budgets/account.ts';
import { SessionStreams } from './edge/event-stream.ts';
import { ServerRequests } from './server-requests.ts';
import { Subscriptions } from './subscriptions.ts';
import { ANONYMOUS, type Identity } from '../contract/identity.ts';
import type { ClientInfo } from '../policy/policy.ts';
import type { Channel } from './transport/channel.ts';

/** A call that a session waits for. */
export interface RunningCall {
  /** JSON text of the client's id. */
  readonly id: string;
  /** Ends the call without a reply. */
  cancel(reason: string): void;
}

/** One backend's channel in a session: open, or being opened. */
export interface SessionChannel {
  channel: Channel | undefined;
  opening: Promise<Channel> | undefined;
  lastUsedAt: number;
}

/** What the gateway knows of one client session: plain data, beside the sockets this process holds for it. */
export interface Session {
  readonly id: string;
  /** Who opened it: issuer and subject, or `anonymous`. Nobody else may use it. */
  readonly principal: string;
  /** Budgets of its principal. */
  readonly account: Account;
  /** As the latest request of the session proved it; undefined: anonymous. */
  identity: Identity | undefined;
  /** Why the caller must log in again, where a stream that had begun could not say it: the next request is told. */
  owedChallenge: string | undefined;
  readonly revision: string;
  readonly client: ClientInfo;
  /** Index of `LOG_LEVELS` from which on log messages of backends are passed on; -1: all. */
  logLevel: number;
  /** ms since the epoch. */
  lastSeenAt: number;
  ended: boolean;
  readonly channels: Map<string, SessionChannel>;
  readonly running: Set<RunningCall>;
  /** JSON text of the part of the client's capabilities that backends are told of. */
  readonly capabilities: string;
  /** Names of the capabilities in it. */
  readonly offers: ReadonlySet<string>;
  /** What backends have asked the client. */
  readonly requests: ServerRequests;
  readonly streams: SessionStreams;
  readonly subscriptions: Subscriptions;
  /** The lists as the client was last told of them. */
  seen: ListDigests | undefined;
}

/** One text per list that clients are told changes of; equal texts mean equal lists. */
export interface ListDigests {
  readonly tools: string;
  readonly resources: string;
  readonly prompts: string;
}

/** What a client says of itself in `initialize`. */
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
  /** Somebody else's id was presented: a stolen one, perhaps. */
  readonly onForeign: () => void;
  /** Called once for every session that ends, whatever the reason. */
  readonly onEnd: (session: Session) => void;
}

const NO_SESSIONS: ReadonlySet<Session> = new Set();

/** More sessions of one user end his own, not those of others; anonymous callers are no one user. */
const PER_PRINCIPAL = 1_000;

const TOUCH_EVERY_MS = 10_000;

const isBusy = ({ running, streams }: Session): boolean => running.size > 0 || streams.main.connected;

/** The live sessions of one virtual server, the least recently used ending first when there are too many. */
export class Sessions {
  /** Sessions that were idle for longer end. */
  ttlMs: number;
  readonly #options: SessionsOptions;
  /** In order of last use, to `TOUCH_EVERY_MS`. */
  readonly #live = new Map<string, Session>();
  readonly #byPrincipal = new Map<string, Set<Session>>();

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.ttlMs = options.ttlMs;
  }

  get size(): number {
    return this.#live.size;
  }

  create(principal: string, client: ClientFacts): Session {
    const account = this.#options.accountOf(principal);
    const session: Session = {
      id: this.#options.newId(),
      principal,
      account,
      identity: undefined,
      owedChallenge: undefined,
      ...client,
      logLevel: -1,
      lastSeenAt: this.#options.now(),
      ended: false,
      channels: new Map(),
      running: new Set(),
      requests: new ServerRequests(),
      streams: new SessionStreams(account),
      subscriptions: new Subscriptions(account.subscriptions()),
      seen: undefined,
    };
    this.#live.set(session.id, session);
    const own = this.#byPrincipal.get(principal);
    if (own) own.add(session);
    else this.#byPrincipal.set(principal, new Set([session]));
    const crowd = this.#byPrincipal.get(principal);
    if (principal !== ANONYMOUS && crowd && crowd.size > PER_PRINCIPAL) this.#endOldest(session, crowd);
    if (this.#live.size > this.#options.limit) this.#endOldest(session, this.#live.values());
    return session;
  }

  /** Sessions that somebody listens to or waits for go last: a flood of new ones must not end them. */
  #endOldest(newest: Session, crowd: Iterable<Session>): void {
    let oldest: Session | undefined;
    for (const session of crowd) {
      if (session === newest) break;
      oldest ??= session;
      if (isBusy(session)) continue;
      this.end(session);
      return;
    }
    if (oldest) this.end(oldest);
  }

  /** The session of that id if `principal` owns it; undefined for unknown, ended and foreign ids alike. */
  find(id: string, principal: string): Session | undefined {
    const session = this.#live.get(id);
    if (session?.principal !== principal) {
      if (session) this.#options.onForeign();
      return undefined;
    }
    const now = this.#options.now();
    if (now - session.lastSeenAt > Math.min(TOUCH_EVERY_MS, this.ttlMs / 4)) {
      if (now - session.lastSeenAt > this.ttlMs && !isBusy(session)) {
        this.end(session);
        return undefined;
      }
      session.lastSeenAt = now;
      this.#live.delete(id);
      this.#live.set(id, session);
    }
    return session;
  }

  end(session: Session): void {
    if (session.ended) return;
    session.ended = true;
    this.#live.delete(session.id);
    const own = this.#byPrincipal.get(session.principal);
    own?.delete(session);
    if (own?.size === 0) this.#byPrincipal.delete(session.principal);
    this.#options.onEnd(session);
  }

  /** Ends what was idle for longer than the TTL; an open stream or a running call keeps a session alive. */
  sweep(): void {
    const oldest = this.#options.now() - this.ttlMs;
    for (const [, session] of this.#live) {
      if (session.lastSeenAt < oldest && !isBusy(session)) this.end(session);
    }
  }

  /** Live sessions of one principal. */
  ofPrincipal(principal: string): ReadonlySet<Session> {
    return this.#byPrincipal.get(principal) ?? NO_SESSIONS;
  }

  all(): IterableIterator<Session> {
    return this.#live.values();
  }
}
