import type { Account } from '../budgets/account.ts';
import { EventStream, KEPT_BYTES } from './event-stream.ts';

/** Ended streams that a session keeps for a resumption. */
const ENDED_STREAMS = 32;

/** Streams of one session: `main` for its whole life, and one per reply that became a stream. */
export class SessionStreams {
  /** Stream of the client's GET, for messages that belong to no call. */
  readonly main: EventStream;
  readonly #account: Account;
  #byCall: Map<string, EventStream> | undefined;
  #last = 0;

  constructor(account: Account) {
    this.#account = account;
    this.main = new EventStream('g', account);
  }

  open(): EventStream {
    const byCall = (this.#byCall ??= new Map<string, EventStream>());
    const stream = new EventStream(this.#nextId(), this.#account, {
      onEnd: () => {
        forgetOldest(byCall);
      },
    });
    byCall.set(stream.id, stream);
    return stream;
  }

  /** Opens a stream that ends with its connection: a client of a revision without sessions cannot resume one. */
  openUnkept(): EventStream {
    const byCall = (this.#byCall ??= new Map<string, EventStream>());
    const stream = new EventStream(this.#nextId(), this.#account, {
      resumes: false,
      onEnd: () => {
        byCall.delete(stream.id);
      },
    });
    byCall.set(stream.id, stream);
    return stream;
  }

  #nextId(): string {
    this.#last += 1;
    return `p${this.#last.toString(36)}`;
  }

  find(id: string): EventStream | undefined {
    return id === this.main.id ? this.main : this.#byCall?.get(id);
  }

  /** Calls `visit` for each stream with an open connection. */
  forConnected(visit: (stream: EventStream) => void): void {
    if (this.main.connected) visit(this.main);
    for (const stream of this.#byCall?.values() ?? []) if (stream.connected) visit(stream);
  }

  end(): void {
    for (const stream of [this.main, ...(this.#byCall?.values() ?? [])]) {
      stream.end();
      stream.forget();
    }
  }
}

/** Drops all ended streams but the newest, within one limit of count and of bytes. */
function forgetOldest(streams: Map<string, EventStream>): void {
  const ended = [...streams.values()].filter((stream) => stream.ended).reverse();
  let bytes = 0;
  for (const [index, { id, keptBytes }] of ended.entries()) {
    bytes += keptBytes;
    if (index < ENDED_STREAMS && bytes <= KEPT_BYTES) continue;
    streams.get(id)?.forget();
    streams.delete(id);
  }
}
