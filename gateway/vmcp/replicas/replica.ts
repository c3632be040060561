import type { Logger } from '../../contract/logger.ts';
import type { KeyValueStore } from '../../kvstore/key-value-store.ts';
import type { ListDigests, Session, Sessions, SharedState } from '../session.ts';
import { MAIN_STREAM } from '../stream-log.ts';
import type { Subscription } from '../subscriptions.ts';
import { StoredBackendSessions } from './backend-sessions.ts';
import { Connections } from './connections.ts';
import { EventLog } from './event-log.ts';
import { Mailbox } from './messages.ts';
import { ResumedCalls } from './resumed-calls.ts';
import { newReplicaName } from './replica-name.ts';
import { SharedSealKeys } from './seal-keys.ts';
import { FIELD } from './session-record.ts';
import { SessionStore } from './session-store.ts';
import { SharedSessions } from './shared-sessions.ts';
import { StreamPipes } from './stream-pipes.ts';
import { Flights } from '../../kit/tasks.ts';

export interface ReplicaOptions {
  readonly store: KeyValueStore;
  readonly sessions: Sessions;
  readonly now: () => number;
  readonly log: Logger;
  /** Digest of the rules for clients. */
  readonly rules: () => string;
  readonly onForeign: () => void;
  /** Opens a backend for a session. Never rejects. */
  readonly openBackend: (session: Session, backend: string) => Promise<void>;
  /** Called when the client has set its log level at another replica. */
  readonly onLevel: (session: Session, level: number) => void;
  /** Called when a backend has changed its lists for one principal. */
  readonly onListsChanged: (backend: string, principal: string) => void;
}

/** Result of taking over the client's stream; `moved`: another replica has taken it over in the meantime. */
type Hold = 'held' | 'moved' | 'ended';

/** This process as one of the replicas of a virtual server, which share their sessions in a store. */
export class Replica {
  readonly mailbox: Mailbox;
  readonly connections: Connections;
  readonly sessions: SharedSessions;
  readonly backends: StoredBackendSessions;
  readonly streams: StreamPipes;
  readonly calls: ResumedCalls;
  readonly keys: SharedSealKeys;
  readonly #options: ReplicaOptions;
  readonly #stored: SessionStore;
  readonly #events: EventLog;
  readonly #holding = new Flights<Session, Hold>();
  #handsOver = false;

  constructor(options: ReplicaOptions) {
    const { store, sessions, now, log, rules, onForeign } = options;
    this.#options = options;
    const mailbox = (this.mailbox = new Mailbox(store, newReplicaName(), log));
    const stored = (this.#stored = new SessionStore(store, log));
    const events = (this.#events = new EventLog({ store, sessions: stored, replica: mailbox.replica, log }));
    const confirm = (session: Session): Promise<boolean> => this.sessions.confirm(session);
    const connections = (this.connections = new Connections({ mailbox, sessions, now, log, confirm }));
    const onConfirmed = (session: Session, shared: SharedState): void => {
      this.#takeOver(session, shared).catch(() => undefined); // the next confirmation tries again
    };
    this.sessions = new SharedSessions({
      sessions,
      store: stored,
      events,
      mailbox,
      connections,
      now,
      rules,
      onForeign,
      onConfirmed,
    });
    this.backends = new StoredBackendSessions(stored, mailbox);
    this.streams = new StreamPipes({ sessions, events, mailbox });
    this.calls = new ResumedCalls(mailbox);
    this.keys = new SharedSealKeys(store);
    this.#receive();
  }

  get name(): string {
    return this.mailbox.replica;
  }

  /** Returns false for a request state that was used before. Rejects with `KeyValueStoreUnavailable`. */
  async useOnce(id: string, lifeMs: number): Promise<boolean> {
    const { store } = this.#options;
    return (await store.command('SET', store.key(`u:${id}`), 1, 'NX', 'PX', lifeMs)) === 'OK';
  }

  /**
   * Makes this replica the one whose client stream carries messages that belong to no call. Rejects with
   * `KeyValueStoreUnavailable`.
   */
  hold(session: Session, shared: SharedState): Promise<Hold> {
    return this.#holding.run(session, () => this.#hold(session, shared));
  }

  /** With `after` fails as `moved` unless that is the last turn. */
  async #hold(session: Session, shared: SharedState, after?: number): Promise<Hold> {
    const present = shared.holder === this.name ? shared.turn : undefined;
    const held = await this.#events.hold(session.id, MAIN_STREAM, present, after);
    if (!held) return 'ended';
    const { turn, state } = held;
    if (turn < shared.turn) return 'moved';
    shared.turn = turn;
    shared.holder = this.name;
    if (state) {
      session.seen = state.seen ?? session.seen;
      session.streams.main.continueFrom(state.events, state.last);
      this.mailbox.broadcast('held', { session: session.id, holder: this.name, turn });
    }
    this.openBackends(session).catch(() => undefined);
    return 'held';
  }

  /**
   * Takes over the client's stream, until the client connects again, when no running replica has it: the messages of
   * backends are then in its log.
   */
  async #takeOver(session: Session, shared: SharedState): Promise<void> {
    const { holder, turn } = shared;
    const isOpen = (): boolean => !session.ended && shared.turn === turn && shared.holder === holder;
    if (shared.connection || turn === 0 || holder === this.name || this.#holding.get(session)) return;
    if (holder !== undefined && (await this.mailbox.isRunning(holder))) return;
    if (!isOpen() || (await this.#hold(session, shared, turn)) !== 'held') return;
    for (const backend of session.subscriptions.backends()) void this.#options.openBackend(session, backend);
    for (const { channel } of session.channels.values()) channel?.listen();
  }

  /** True when clients must open the streams of shared sessions at another replica. */
  get handsOver(): boolean {
    return this.#handsOver;
  }

  /**
   * Closes the streams of clients that other replicas continue. The returned function returns true while backends still
   * send their messages here: the log of a stream has them.
   */
  handOver(): () => boolean {
    this.#handsOver = true;
    const moving = [...this.#options.sessions.all()].filter(
      ({ shared, streams }) => shared && !shared.connection && streams.main.connected,
    );
    for (const { streams } of moving) streams.main.detach();
    return () => moving.some(({ ended, shared }) => !ended && shared?.holder === this.name);
  }

  /** Lets another replica take over the client's stream of a session that this one releases. */
  leave({ id, shared }: Session): void {
    if (shared?.holder !== this.name) return;
    const message = this.mailbox.text('vacant', { session: id, turn: shared.turn });
    this.#events.leave(id, message).catch(() => undefined); // the replica counts as stopped later
  }

  /**
   * Opens the backends at which other replicas have opened a session, and resolves when they are open. Rejects with
   * `KeyValueStoreUnavailable`.
   */
  async openBackends(session: Session): Promise<void> {
    const backends = await this.#stored.backends(session.id);
    const missing = backends.filter((backend) => !session.channels.get(backend)?.channel);
    await Promise.all(missing.map((backend) => this.#options.openBackend(session, backend)));
  }

  levelSet(session: Session): void {
    const { id, logLevel: level } = session;
    this.#stored.set(id, FIELD.level, String(level)).catch(() => undefined);
    this.mailbox.broadcast('level', { session: id, level });
    this.openBackends(session).catch(() => undefined); // a channel that opens sends the level
  }

  /** Lets the other replicas know of a subscription before its backend does: an update may precede its reply. */
  subscribing({ id }: Session, uri: string, { backend, name }: Pick<Subscription, 'backend' | 'name'>): void {
    this.mailbox.broadcast('subscription', { session: id, uri, backend, name });
  }

  subscribed({ id }: Session, uri: string, { backend, name }: Pick<Subscription, 'backend' | 'name'>): void {
    this.#stored.set(id, FIELD.subscription + uri, JSON.stringify([backend, name])).catch(() => undefined);
  }

  unsubscribed({ id }: Session, uri: string): void {
    this.#stored.unset(id, FIELD.subscription + uri).catch(() => undefined);
    this.mailbox.broadcast('subscription', { session: id, uri, backend: '' });
  }

  /** Records the lists of which the client was notified last. */
  saw(session: Session, lists: ListDigests): void {
    this.#stored.set(session.id, FIELD.seen, JSON.stringify(lists)).catch(() => undefined);
  }

  /**
   * Passes on a response or notification of the client to the replica with its call or request, or to all. Rejects with
   * `KeyValueStoreUnavailable`.
   */
  async passOn({ id }: Session, message: Buffer, replica: string | undefined): Promise<void> {
    if (replica === undefined) await this.mailbox.sendToAll('client', { session: id }, message);
    else if (replica !== this.name) await this.mailbox.send(replica, 'client', { session: id }, message);
  }

  /**
   * Lets the other replicas pass a notification of the client to their own processes, and opens the backends that all
   * share. Rejects with `KeyValueStoreUnavailable`.
   */
  notifyBackends(session: Session, message: Buffer): Promise<void> {
    this.mailbox.broadcast('client', { session: session.id }, message);
    return this.openBackends(session);
  }

  /** Sends a message on the client's stream, which this replica holds as soon as the store has answered. */
  #sendHeld(session: Session, message: Buffer): void {
    const send = (): void => {
      session.streams.main.sendHere(message); // passing it on could send it round in circles
    };
    const holding = this.#holding.get(session);
    if (holding) holding.then(send, send);
    else send();
  }

  close(): void {
    this.keys.close();
    this.connections.close();
    this.mailbox.close();
  }

  #receive(): void {
    const { sessions, openBackend, onLevel, onListsChanged } = this.#options;
    const { mailbox } = this;
    mailbox.on('held', ({ session: id, holder, turn }) => {
      const session = sessions.known(id);
      if (!session?.shared || turn <= session.shared.turn) return;
      session.shared.turn = turn;
      yieldTo(session, session.shared, holder);
    });
    mailbox.on('vacant', ({ session: id, turn }) => {
      const session = sessions.known(id);
      if (session?.shared?.turn !== turn) return;
      session.shared.holder = undefined;
      this.#takeOver(session, session.shared).catch(() => undefined); // the next confirmation tries again
    });
    mailbox.on('main', ({ session: id, isHeld }, body) => {
      const session = sessions.known(id);
      const message = Buffer.from(body);
      if (isHeld !== true) session?.streams.main.send(message);
      else if (session) this.#sendHeld(session, message);
    });
    mailbox.on('opened', ({ session: id, backend }) => {
      const session = sessions.known(id);
      if (session) void openBackend(session, backend);
    });
    mailbox.on('level', ({ session: id, level }) => {
      const session = sessions.known(id);
      if (session) onLevel(session, level);
    });
    mailbox.on('subscription', ({ session, uri, backend, name }) => {
      const subscriptions = sessions.known(session)?.subscriptions;
      if (name === undefined) subscriptions?.delete(uri);
      else subscriptions?.restore(uri, backend, name);
    });
    mailbox.on('lists', ({ backend, principal }) => {
      onListsChanged(backend, principal);
    });
  }
}

/** Closes the client's stream and those of the backends, which another replica opens. */
function yieldTo({ streams, channels }: Session, shared: SharedState, holder: string): void {
  shared.holder = holder;
  streams.main.detach();
  streams.main.forget();
  for (const { channel } of channels.values()) channel?.unlisten?.();
}
