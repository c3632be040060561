import type { AuditedRequest } from '../../audit/audited-request.ts';
import { FIELD, type SessionRecord } from './session-record.ts';
import type { EndedSession, SessionStore } from './session-store.ts';
import { replicaOfConnection } from './connection-id.ts';
import type { Connections } from './connections.ts';
import type { EventLog } from './event-log.ts';
import type { Mailbox } from './messages.ts';
import { MAIN_STREAM } from '../stream-log.ts';
import { remoteConnectionOf, type ClientFacts, type Session, type Sessions, type SharedState } from '../session.ts';

/** Time after which a session that is used is confirmed in the background. */
const CONFIRM_AFTER_MS = 5_000;
/** Time after which a request waits for the confirmation. */
const CONFIRMED_MS = 10_000;

/** Ids of sessions of streamable HTTP. */
const SESSION_ID = /^[0-9a-f-]{36}$/u;

/** Returns true for the id of a session: other texts are not looked up. */
const isSessionId = (id: string): boolean => SESSION_ID.test(id) || replicaOfConnection(id) !== undefined;

export interface SharedSessionsOptions {
  readonly sessions: Sessions;
  readonly store: SessionStore;
  readonly events: EventLog;
  readonly mailbox: Mailbox;
  readonly connections: Connections;
  readonly now: () => number;
  /** Digest of the rules for clients: a session that was opened under other rules is not continued. */
  readonly rules: () => string;
  readonly onForeign: () => void;
  /** Called when the store has the session that is used here. */
  readonly onConfirmed: (session: Session, shared: SharedState) => void;
}

/** Record of the requests for sessions of another principal. */
type ForeignSessions = Pick<AuditedRequest, 'foreignSession'>;

/** A session that is loaded from the store. */
interface Loading {
  readonly record: Promise<SessionRecord | undefined>;
  ended: boolean;
}

/**
 * Sessions that the replicas of a virtual server share. Each replica has its own copy of a session that it serves. The
 * store confirms the copy at least every 10 seconds while it is used, so most requests do not wait for the store.
 */
export class SharedSessions {
  readonly #options: SharedSessionsOptions;
  readonly #loading = new Map<string, Loading>();

  constructor(options: SharedSessionsOptions) {
    this.#options = options;
    options.mailbox.on('ended', ({ session }) => {
      const loading = this.#loading.get(session);
      if (loading) loading.ended = true;
      const known = options.sessions.known(session);
      if (known) options.sessions.end(known, 'released');
    });
  }

  /** Returns the state of a session that is shared from now on. */
  share(id: string): SharedState {
    const { mailbox, events, now } = this.#options;
    if (replicaOfConnection(id) !== undefined) return this.#shareConnection(id);
    const state: SharedState = {
      confirmedAt: now(),
      confirming: undefined,
      holder: undefined,
      turn: 0,
      connection: undefined,
      streams: {
        replica: mailbox.replica,
        log: events.of(
          id,
          (stream) => stream === MAIN_STREAM,
          (holder, message) => {
            mailbox.post(holder, 'main', { session: id, isHeld: true }, message);
          },
        ),
        elsewhere: (message) => {
          const { holder } = state;
          if (holder === undefined || holder === mailbox.replica) return false;
          mailbox.post(holder, 'main', { session: id }, message);
          return true;
        },
      },
    };
    return state;
  }

  /** Returns the state of a session of HTTP+SSE (2024-11-05). Its stream is never resumed: it has no log. */
  #shareConnection(id: string): SharedState {
    const { mailbox, connections, now } = this.#options;
    const { replica } = mailbox;
    const holder = replicaOfConnection(id);
    const away = holder === undefined || holder === replica ? undefined : connections.to(id, holder);
    const elsewhere = (message: Buffer): boolean => {
      away?.send(message);
      return away !== undefined;
    };
    return {
      confirmedAt: now(),
      confirming: undefined,
      holder,
      turn: 0,
      connection: away ?? 'here',
      streams: { replica, log: undefined, elsewhere },
    };
  }

  /** Stores a new session. Rejects with `KeyValueStoreUnavailable`. */
  async save({ id, principal, startedAt, seen, shared, ...client }: Session): Promise<void> {
    const { store, sessions, rules } = this.#options;
    await store.create(
      id,
      recordOf(principal, rules(), client, { startedAt, seen, holder: shared?.holder }),
      sessions.ttlMs,
    );
  }

  /**
   * Returns the session with this id when `principal` owns it; undefined for unknown, ended and foreign ids alike.
   * Records in `audit` the id of a session in the store that another principal owns. Rejects with
   * `KeyValueStoreUnavailable`.
   */
  find(id: string, principal: string, audit?: ForeignSessions): Session | undefined | Promise<Session | undefined> {
    const { sessions, now } = this.#options;
    const session = sessions.find(id, principal);
    if (!session) return sessions.has(id) || !isSessionId(id) ? undefined : this.#restore(id, principal, audit);
    const { shared } = session;
    if (!shared) return session;
    const ageMs = now() - shared.confirmedAt;
    if (ageMs < Math.min(CONFIRM_AFTER_MS, sessions.ttlMs / 4)) return session;
    const confirming = this.#confirm(session, shared);
    if (ageMs < Math.min(CONFIRMED_MS, sessions.ttlMs / 2)) {
      confirming.catch(() => undefined); // the next request waits
      return session;
    }
    return confirming.then((isKnown) => (isKnown && !session.ended ? session : undefined));
  }

  /** Deletes a session for all replicas. Rejects with `KeyValueStoreUnavailable`. */
  async end(id: string): Promise<EndedSession> {
    const { store, mailbox } = this.#options;
    return store.end(id, mailbox.text('ended', { session: id }));
  }

  /** Deletes an idle session for which there is no place, unless another replica uses it. */
  async endIdle({ id, lastSeenAt }: Session): Promise<EndedSession> {
    const { store, mailbox, sessions, now } = this.#options;
    const leftMs = sessions.ttlMs - (now() - lastSeenAt) + CONFIRMED_MS;
    return store.endIdle(id, leftMs, mailbox.text('ended', { session: id }));
  }

  /** Deletes a session that no request has used, unless another replica has had a message or a stream of its client later. */
  async #endUnused({ id, lastSeenAt }: Session): Promise<EndedSession> {
    const { store, mailbox, sessions, now } = this.#options;
    const { ttlMs, unusedTtlMs } = sessions;
    const leftMs = Math.ceil(ttlMs - (now() - lastSeenAt) + Math.min(CONFIRMED_MS, unusedTtlMs / 8));
    return store.endUnused(id, leftMs, mailbox.text('ended', { session: id }));
  }

  /** Lets all replicas know that a request uses the session. */
  used({ id }: Session): void {
    this.#options.store.set(id, FIELD.used, '1').catch(() => undefined); // it then ends earlier when it is idle
  }

  /**
   * Ends the copy of an idle session: with the session, if no other replica has used it either. Leaves one that the store will soon
   * have forgotten: if nobody had a copy then, nobody would record its end.
   */
  async release(session: Session): Promise<void> {
    const { store, sessions } = this.#options;
    const { id, isUsed, shared } = session;
    if (!isUsed && shared?.connection === undefined) {
      sessions.end(session, (await this.#endUnused(session)).isFirst ? 'expired' : 'released');
      return;
    }
    const leftMs = await store.leftMs(id);
    if (leftMs >= 0 && leftMs < Math.min(2 * CONFIRMED_MS, sessions.ttlMs / 2)) return;
    const isExpired = leftMs < 0 && (await store.isFirstToEnd(id));
    sessions.end(session, isExpired ? 'expired' : 'released');
  }

  /** Starts the time to live of the sessions in use again. */
  keepBusy(session: Session): void {
    const { shared } = session;
    const elsewhere = remoteConnectionOf(session);
    if (elsewhere) {
      elsewhere.check(); // its replica keeps the session alive
      return;
    }
    const { ttlMs, unusedTtlMs } = this.#options.sessions;
    const dueAt = (shared?.confirmedAt ?? 0) + (session.isUsed ? ttlMs / 4 : unusedTtlMs / 8);
    if (shared && this.#options.now() >= dueAt) this.#confirm(session, shared).catch(() => undefined);
  }

  /** Returns false for a session that the store does not have, and ends it. Rejects with `KeyValueStoreUnavailable`. */
  async confirm(session: Session): Promise<boolean> {
    return session.shared === undefined || this.#confirm(session, session.shared);
  }

  #confirm(session: Session, shared: SharedState): Promise<boolean> {
    const { store, sessions, now, onConfirmed } = this.#options;
    shared.confirming ??= store
      .touch(session.id, sessions.ttlMs)
      .then(async (isKnown) => {
        shared.confirmedAt = now();
        if (isKnown) onConfirmed(session, shared);
        else sessions.end(session, (await store.isFirstToEnd(session.id)) ? 'expired' : 'released');
        return isKnown;
      })
      .finally(() => {
        shared.confirming = undefined;
      });
    return shared.confirming;
  }

  async #restore(id: string, principal: string, audit: ForeignSessions | undefined): Promise<Session | undefined> {
    const { store, sessions, rules, onForeign } = this.#options;
    let loading = this.#loading.get(id);
    if (!loading) {
      const record = store.load(id, sessions.ttlMs).finally(() => this.#loading.delete(id));
      this.#loading.set(id, (loading = { record, ended: false }));
    }
    const record = await loading.record;
    if (!record || loading.ended || record.rules !== rules()) return undefined;
    if (record.principal !== principal) {
      onForeign();
      audit?.foreignSession(id);
      return undefined;
    }
    const present = sessions.find(id, principal);
    return present ?? this.#copy(id, record);
  }

  #copy(id: string, record: SessionRecord): Session {
    const session = this.#options.sessions.restore(id, record.principal, record.client, record.startedAt);
    session.isUsed = record.isUsed;
    session.logLevel = record.logLevel;
    session.seen = record.seen;
    const { shared } = session;
    if (shared) {
      // an earlier copy of this replica had the stream: this one has none of its events
      shared.holder = record.holder === this.#options.mailbox.replica ? undefined : record.holder;
      shared.turn = record.turn;
    }
    for (const { uri, backend, name } of record.subscriptions) session.subscriptions.restore(uri, backend, name);
    if (shared) this.#options.onConfirmed(session, shared);
    return session;
  }
}

const recordOf = (
  principal: string,
  rules: string,
  { revision, capabilities, offers, client }: ClientFacts,
  { startedAt, seen, holder }: Pick<SessionRecord, 'startedAt' | 'seen' | 'holder'>,
): SessionRecord => ({
  principal,
  rules,
  client: { revision, capabilities, offers, client },
  startedAt,
  isUsed: false,
  seen,
  logLevel: -1,
  holder,
  turn: 0,
  subscriptions: [],
  backends: new Map(),
});
