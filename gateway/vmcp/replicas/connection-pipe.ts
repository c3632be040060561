import type { RemoteConnection, RemoteState } from '../session.ts';
import type { Mailbox, Messages } from './messages.ts';
import { SingleFlight } from '../../kit/tasks.ts';

/** Longest body of one message: a longer one is sent in pieces. */
const PIECE_BYTES = 256 * 1024;
/** Time for which an open connection is not checked again, and time until messages are checked for their arrival. */
const OPEN_MS = 1_000;
const CHECK_AFTER_MS = 1_000;

const NOTHING: Buffer = Buffer.alloc(0);

export interface ConnectionPipeOptions {
  readonly mailbox: Mailbox;
  /** Unique name. */
  readonly pipe: string;
  readonly connection: string;
  readonly owner: string;
  readonly now: () => number;
  /**
   * Returns the state of the connection, which closes when `sent` messages have not arrived. Rejects with
   * `KeyValueStoreUnavailable`.
   */
  readonly ask: (pipe: string, sent: number) => Promise<RemoteState>;
  /** Called when the connection is not open. */
  readonly onEnd: (state: RemoteState) => void;
}

/**
 * Messages of this process for a connection at another replica. They are numbered: the other replica closes the
 * connection when one is lost, so that its client notices.
 */
export class ConnectionPipe implements RemoteConnection {
  readonly #options: ConnectionPipeOptions;
  #sent = 0;
  /** Number of messages that have arrived. */
  #arrived = 0;
  /** ms since the epoch at which the connection was open. */
  #openAt = -Infinity;
  readonly #asking = new SingleFlight<RemoteState>();
  #hasEnded = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ConnectionPipeOptions) {
    this.#options = options;
  }

  send(message: Buffer, answers?: string): void {
    let at = 0;
    for (; message.length - at > PIECE_BYTES; at += PIECE_BYTES)
      this.#carry({ isPart: true }, message.subarray(at, at + PIECE_BYTES));
    this.#carry({ ends: answers }, message.subarray(at));
  }

  begin(request: string): void {
    this.#carry({ begins: request });
  }

  drop(request: string): void {
    this.#carry({ ends: request });
  }

  state(): RemoteState | Promise<RemoteState> {
    return this.#options.now() - this.#openAt < OPEN_MS ? 'open' : this.#ask();
  }

  check(): void {
    this.#ask().catch(() => {
      this.#checkLater(); // the store is down
    });
  }

  #carry(fields: Pick<Messages['carry'], 'isPart' | 'begins' | 'ends'>, body = NOTHING): void {
    const { mailbox, owner, connection, pipe } = this.#options;
    this.#sent += 1;
    // a failure leaves a gap in the numbers
    mailbox.post(owner, 'carry', { connection, pipe, number: this.#sent, ...fields }, body);
    this.#checkLater();
  }

  #checkLater(): void {
    if (this.#timer || this.#hasEnded) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#arrived < this.#sent) this.check();
    }, CHECK_AFTER_MS).unref();
  }

  #ask(): Promise<RemoteState> {
    return this.#asking.run(() => this.#askOwner());
  }

  async #askOwner(): Promise<RemoteState> {
    const { ask, pipe, now, onEnd } = this.#options;
    const sent = this.#sent;
    const state = await ask(pipe, sent);
    if (state === 'open') {
      this.#arrived = sent;
      this.#openAt = now();
      if (sent < this.#sent) this.#checkLater();
    } else {
      this.#hasEnded = true;
      onEnd(state);
    }
    return state;
  }
}
