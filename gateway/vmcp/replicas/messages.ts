import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../contract/logger.ts';
import type { KeyValueStore } from '../../kvstore/key-value-store.ts';
import type { ConnectionReply } from './connection-state.ts';

/** Fields of each message between replicas. A message may also have a body. */
export interface Messages {
  /** A session has ended. */
  readonly ended: { readonly session: string };
  /** A login has ended. */
  readonly login: { readonly tsid: string };
  /** A backend has changed its lists for one principal. */
  readonly lists: { readonly backend: string; readonly principal: string };
  /** Body: a response or notification of the client. */
  readonly client: { readonly session: string };
  /** Another replica holds the client's stream for messages that belong to no call. */
  readonly held: { readonly session: string; readonly holder: string; readonly turn: number };
  /** The replica with that stream has left the session. */
  readonly vacant: { readonly session: string; readonly turn: number };
  /** Body: a message for that stream. `isHeld`: the store says that the receiver holds the stream. */
  readonly main: { readonly session: string; readonly isHeld?: boolean };
  /** The session has a session at one more backend. */
  readonly opened: { readonly session: string; readonly backend: string };
  readonly level: { readonly session: string; readonly level: number };
  /** `name` is the URI at the backend; absent when the subscription has ended. */
  readonly subscription: {
    readonly session: string;
    readonly uri: string;
    readonly backend: string;
    readonly name?: string | undefined;
  };
  /** The client resumes a stream of the receiver at the sender, after event `after`. */
  readonly follow: {
    readonly session: string;
    readonly stream: string;
    readonly after: number;
    readonly pipe: string;
  };
  /** Body: bytes of a stream that the receiver follows. `piece` counts from 1: one may be lost; 0 only opens the stream. */
  readonly piped: { readonly pipe: string; readonly piece: number };
  /** Asks for `unpiped` when the receiver does not send bytes of this stream any more. */
  readonly following: { readonly pipe: string };
  /** The receiver no longer gets or sends bytes of this stream; `unknown`: it never did; `isOver`: there are none. */
  readonly unpiped: { readonly pipe: string; readonly unknown?: boolean; readonly isOver?: boolean };
  /** Body: JSON texts of the client's answers to a call that waits at the receiver, by the keys of their requests. */
  readonly resume: { readonly handle: string; readonly ticket: string; readonly id: string };
  /** The client may not continue a call that waits at the receiver. */
  readonly abandon: { readonly handle: string };
  /** Body: bytes for the answer with this ticket. */
  readonly answer: { readonly ticket: string; readonly step: string; readonly args: readonly unknown[] };
  /** Asks for the step `gone` when the receiver has no answer with this ticket any more. */
  readonly waiting: { readonly ticket: string };
  /** The client of this ticket has left. */
  readonly left: { readonly ticket: string };
  /**
   * Asks for the state of a connection of HTTP+SSE (2024-11-05). `sent` messages of `pipe` must have arrived. Body:
   * `initialize` of the client, or nothing.
   */
  readonly ask: {
    readonly ticket: string;
    readonly connection: string;
    readonly principal: string;
    readonly pipe?: string;
    readonly sent?: number;
  };
  readonly reply: { readonly ticket: string; readonly reply: ConnectionReply };
  /**
   * Body: a message for the client of such a connection, a part of it, or nothing. `number` counts from 1. `begins` and
   * `ends` are JSON texts of the ids of requests that run at the sender.
   */
  readonly carry: {
    readonly connection: string;
    readonly pipe: string;
    readonly number: number;
    readonly isPart?: boolean;
    readonly begins?: string | undefined;
    readonly ends?: string | undefined;
  };
}

type Handler<Kind extends keyof Messages> = (fields: Messages[Kind], body: Buffer, from: string) => void;

const NOTHING: Buffer = Buffer.alloc(0);
const LINE_END = 0x0a;

/** Time after its last sign of life at which a replica counts as stopped, and the interval of these signs. */
const ALIVE_MS = 6_000;
const ALIVE_EVERY_MS = 2_000;
const ALIVE_LATE_MS = 500;

/** Messages between the replicas of one virtual server, over channels of their store. */
export class Mailbox {
  /** Name of this replica, 8 characters. */
  readonly replica: string;
  readonly #store: KeyValueStore;
  readonly #handlers = new Map<string, Handler<never>>();
  readonly #signs: NodeJS.Timeout;

  constructor(store: KeyValueStore, replica: string, log: Pick<Logger, 'warn'>) {
    this.#store = store;
    this.replica = replica;
    let isReported = false;
    store.subscribe([store.key('all'), this.#key(replica)], (_channel, message) => {
      try {
        this.#receive(message);
      } catch (error) {
        if (!isReported) log.warn('a message of another replica cannot be handled', { error: String(error) });
        isReported = true;
      }
    });
    const sign = (): void => {
      store.command('SET', this.#key(replica), 1, 'PX', ALIVE_MS).catch(() => undefined);
    };
    sign();
    this.#signs = setInterval(sign, ALIVE_EVERY_MS).unref();
  }

  /** Tells the other replicas that this one stops. */
  close(): void {
    clearInterval(this.#signs);
    this.#store.command('DEL', this.#key(this.replica)).catch(() => undefined);
  }

  on<Kind extends keyof Messages>(kind: Kind, handler: Handler<Kind>): void {
    this.#handlers.set(kind, handler);
  }

  /** Resolves when the store has passed the message on. Rejects with `KeyValueStoreUnavailable`. */
  async send<Kind extends keyof Messages>(to: string, kind: Kind, fields: Messages[Kind], body?: Buffer) {
    await this.#store.command('PUBLISH', this.#key(to), this.text(kind, fields, body));
  }

  /** Sends to all other replicas. Rejects with `KeyValueStoreUnavailable`. */
  async sendToAll<Kind extends keyof Messages>(kind: Kind, fields: Messages[Kind], body?: Buffer): Promise<void> {
    await this.#store.command('PUBLISH', this.#store.key('all'), this.text(kind, fields, body));
  }

  /** Like `sendToAll`, for a message that the others can miss, because they learn of the change from the store. */
  broadcast<Kind extends keyof Messages>(kind: Kind, fields: Messages[Kind], body?: Buffer): void {
    this.sendToAll(kind, fields, body).catch(() => undefined);
  }

  /** Like `send`, for a message whose loss does no harm. */
  post<Kind extends keyof Messages>(to: string, kind: Kind, fields: Messages[Kind], body?: Buffer): void {
    this.send(to, kind, fields, body).catch(() => undefined);
  }

  /** Returns the bytes of a message. */
  text<Kind extends keyof Messages>(kind: Kind, fields: Messages[Kind], body = NOTHING): Buffer {
    return Buffer.concat([Buffer.from(`${JSON.stringify({ kind, from: this.replica, fields })}\n`), body]);
  }

  /**
   * Returns false for a replica that has not given a sign of life for some seconds. Asks twice: after an outage of the
   * store no sign is there until the next one.
   */
  async isRunning(replica: string): Promise<boolean> {
    const hasSign = async (): Promise<boolean> => (await this.#store.command('EXISTS', this.#key(replica))) === 1;
    if (await hasSign()) return true;
    await sleep(ALIVE_EVERY_MS + ALIVE_LATE_MS, undefined, { ref: false });
    return hasSign();
  }

  /** Returns the key of the signs of life, which is also the name of the channel. */
  #key(replica: string): string {
    return this.#store.key(`r:${replica}`);
  }

  #receive(message: Buffer): void {
    const end = message.indexOf(LINE_END);
    const { kind, from, fields } = JSON.parse(message.toString('utf8', 0, end)) as {
      readonly kind: string;
      readonly from: string;
      readonly fields: never;
    };
    if (from !== this.replica) this.#handlers.get(kind)?.(fields, message.subarray(end + 1), from);
  }
}
