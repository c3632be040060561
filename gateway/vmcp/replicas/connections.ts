import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../contract/logger.ts';
import { KeyValueStoreUnavailable } from '../../kvstore/key-value-store.ts';
import { TooManySessions, type RemoteConnection, type RemoteState, type Session, type Sessions } from '../session.ts';
import { newConnectionId, replicaOfConnection } from './connection-id.ts';
import { ConnectionInbox } from './connection-inbox.ts';
import { ConnectionPipe } from './connection-pipe.ts';
import type { ConnectionFault, ConnectionReply, ConnectionState } from './connection-state.ts';
import type { Mailbox, Messages } from './messages.ts';

/** Time after which a replica that does not answer is checked, and longest wait for its answer after that. */
const CHECK_AFTER_MS = 500;
const ANSWER_MS = 4_000;

const NOTHING: Buffer = Buffer.alloc(0);

/** The connections of this process. */
export interface LocalConnections {
  state(id: string, principal: string): ConnectionState;
  /** Throws `TooManySessions`; rejects with `KeyValueStoreUnavailable`. */
  initialize(id: string, body: Buffer): ConnectionState | Promise<ConnectionState>;
}

export interface ConnectionsOptions {
  readonly mailbox: Mailbox;
  readonly sessions: Sessions;
  readonly now: () => number;
  readonly log: Pick<Logger, 'warn' | 'error'>;
  /** Ends a session that the store has lost, and returns false. Rejects with `KeyValueStoreUnavailable`. */
  readonly confirm: (session: Session) => Promise<boolean>;
}

/**
 * Connections of clients of HTTP+SSE (2024-11-05). One replica has the stream of a client, while any of them may receive
 * its messages.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #asked = new Map<string, (reply: ConnectionReply) => void>();
  readonly #inbox: ConnectionInbox;
  #local: LocalConnections | undefined;
  #last = 0;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    const { mailbox, sessions } = options;
    this.#inbox = new ConnectionInbox(mailbox);
    mailbox.on('ask', (fields, body, from) => {
      this.#reply(fields, Buffer.from(body), from)
        .catch((error: unknown) => this.#faultOf(error))
        .then((reply) => mailbox.send(from, 'reply', { ticket: fields.ticket, reply }))
        .catch(() => undefined); // the other replica does not wait for ever
    });
    mailbox.on('reply', ({ ticket, reply }) => this.#asked.get(ticket)?.(reply));
    mailbox.on('carry', (fields, body, from) => {
      const session = sessions.known(fields.connection);
      if (session && !this.#inbox.receive(session, fields, body, from)) this.#lost(fields.connection);
    });
  }

  newId(): string {
    return newConnectionId(this.#options.mailbox.replica);
  }

  /** Lets other replicas use the connections of this process. */
  serve(local: LocalConnections): void {
    this.#local = local;
  }

  /** Returns the way to a connection that `owner` has. */
  to(connection: string, owner: string): RemoteConnection {
    const { mailbox, sessions, now } = this.#options;
    return new ConnectionPipe({
      mailbox,
      pipe: this.#nextName(),
      connection,
      owner,
      now,
      ask: async (pipe, sent) => {
        const principal = sessions.known(connection)?.principal;
        if (principal === undefined) return 'closed';
        const { kind } = await this.#ask({ connection, principal, pipe, sent });
        return kind === 'open' || kind === 'waiting' ? kind : 'closed';
      },
      onEnd: (state) => {
        this.#ended(connection, state);
      },
    });
  }

  /**
   * Returns the state of a connection at another replica, after its `initialize` when that is given. Throws
   * `TooManySessions`. Rejects with `KeyValueStoreUnavailable`, also while the replica does not answer.
   */
  async state(connection: string, principal: string, initialize?: Buffer): Promise<ConnectionState> {
    return this.#ask({ connection, principal }, initialize);
  }

  /** Number of requests that other replicas serve for clients of this one. */
  get running(): number {
    return this.#inbox.running;
  }

  close(): void {
    this.#inbox.close();
  }

  async #ask(fields: Omit<Messages['ask'], 'ticket'>, body = NOTHING): Promise<ConnectionState> {
    const { mailbox } = this.#options;
    const owner = replicaOfConnection(fields.connection);
    if (owner === undefined || owner === mailbox.replica) return { kind: 'unknown' };
    const ticket = this.#nextName();
    const answered = Promise.withResolvers<ConnectionReply>();
    const done = new AbortController();
    this.#asked.set(ticket, answered.resolve);
    try {
      await mailbox.send(owner, 'ask', { ...fields, ticket }, body);
      return stateIn(await Promise.race([answered.promise, this.#silence(owner, done.signal)]));
    } finally {
      done.abort();
      this.#asked.delete(ticket);
    }
  }

  /** Returns the state of the connections of a replica that has stopped. Rejects when it runs, but does not answer in time. */
  async #silence(owner: string, signal: AbortSignal): Promise<ConnectionState> {
    await sleep(CHECK_AFTER_MS, undefined, { ref: false, signal });
    if (!(await this.#options.mailbox.isRunning(owner))) return { kind: 'unknown' };
    await sleep(ANSWER_MS, undefined, { ref: false, signal });
    throw new KeyValueStoreUnavailable('the replica with the stream of the client does not answer');
  }

  async #reply(
    { connection, principal, pipe, sent = 0 }: Messages['ask'],
    body: Buffer,
    from: string,
  ): Promise<ConnectionReply> {
    const state = this.#local?.state(connection, principal) ?? { kind: 'unknown' };
    if (state.kind === 'waiting' && body.length > 0) return (await this.#local?.initialize(connection, body)) ?? state;
    const session = this.#options.sessions.known(connection);
    if (state.kind !== 'open' || !session) return state;
    // the other replica has not found the session in the store
    if (pipe === undefined) return { kind: (await this.#options.confirm(session)) ? 'open' : 'unknown' };
    if (this.#inbox.hasReceived(session, pipe, sent, from)) return state;
    this.#lost(connection);
    return { kind: 'unknown' };
  }

  /** Ends the session of a connection that is not open: here alone while its replica has no session for it yet. */
  #ended(connection: string, state: RemoteState): void {
    const { sessions } = this.#options;
    const session = sessions.known(connection);
    if (session) sessions.end(session, state === 'waiting' ? 'released' : 'stream_closed');
  }

  #faultOf(error: unknown): ConnectionFault {
    if (error instanceof TooManySessions) return { kind: 'full', of: error.of };
    if (error instanceof KeyValueStoreUnavailable) return { kind: 'unavailable' };
    this.#options.log.error('a request of another replica failed unexpectedly', { error: String(error) });
    return { kind: 'failed' };
  }

  /** Closes a connection whose client would wait for a message for ever. */
  #lost(connection: string): void {
    this.#options.log.warn('closed the stream of a client: messages of another replica were lost');
    this.#ended(connection, 'closed');
  }

  #nextName(): string {
    this.#last += 1;
    return `${this.#options.mailbox.replica}${String(this.#last)}`;
  }
}

/** Throws the error of a reply that reports one. */
function stateIn(reply: ConnectionReply): ConnectionState {
  switch (reply.kind) {
    case 'full':
      throw new TooManySessions(reply.of);
    case 'unavailable':
      throw new KeyValueStoreUnavailable('the store does not answer the replica with the stream of the client');
    case 'failed':
      throw new Error('the replica with the stream of the client failed');
    default:
      return reply;
  }
}
