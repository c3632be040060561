import type { Account } from '../budgets/account.ts';
import { MAIN_STREAM, type StreamLog } from '../stream-log.ts';
import { EventStream } from './event-stream.ts';
import { KEPT_BYTES } from './kept-events.ts';

/** Parts of the streams of a session that replicas share. */
export interface SharedStreams {
  /** Part of the id of each stream, so that the ids of different replicas differ. */
  readonly replica: string;
  /** Undefined for streams that are never resumed. */
  readonly log: StreamLog | undefined;
  /** Takes over a message for the main stream while another replica holds it. */
  readonly elsewhere: (message: Buffer) => boolean;
}

/** Ended streams that a session keeps for a resumption. */
const ENDED_STREAMS = 32;

/** Streams of one session: `main` for its whole life, and one per reply that became a stream. */
export class SessionStreams {
  /** Stream of the client's GET, for messages that belong to no call. */
  readonly main: EventStream;
  readonly #account: Account;
  #byCall: Map<string, EventStream> | undefined;
  readonly #shared: SharedStreams | undefined;
  #last = 0;

  constructor(account: Account, shared?: SharedStreams) {
    this.#account = account;
    this.#shared = shared;
    this.main = new EventStream(MAIN_STREAM, account, { log: shared?.log, elsewhere: shared?.elsewhere });
  }

  /** `request` is the JSON text of the id of the request that the stream answers. */
  open(request: string): EventStream {
    const byCall = (this.#byCall ??= new Map<string, EventStream>());
    const log = this.#shared?.log;
    const stream = new EventStream(this.#nextId(), this.#account, {
      log,
      request,
      onEnd: () => {
        forgetOldest(byCall, log);
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

  /** Opens a stream for the events of a stream of another replica. It replaces an earlier one of the same id. */
  openCopy(id: string): EventStream {
    const byCall = (this.#byCall ??= new Map<string, EventStream>());
    byCall.get(id)?.end();
    const stream = new EventStream(id, this.#account, {
      resumes: false,
      isCopy: true,
      onEnd: () => {
        if (byCall.get(id) === stream) byCall.delete(id);
      },
    });
    byCall.set(id, stream);
    return stream;
  }

  #nextId(): string {
    this.#last += 1;
    return `p${this.#shared?.replica ?? ''}${this.#last.toString(36)}`;
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

  /** Closes the connections: clients continue the streams at another replica. */
  release(): void {
    for (const stream of [this.main, ...(this.#byCall?.values() ?? [])]) {
      stream.detach();
      stream.forget();
    }
  }
}

/** Drops all ended streams but the newest, within one limit of count and of bytes. */
function forgetOldest(streams: Map<string, EventStream>, log: StreamLog | undefined): void {
  const ended = [...streams.values()].filter((stream) => stream.ended).reverse();
  let bytes = 0;
  for (const [index, { id, keptBytes }] of ended.entries()) {
    bytes += keptBytes;
    if (index < ENDED_STREAMS && bytes <= KEPT_BYTES) continue;
    streams.get(id)?.forget();
    streams.delete(id);
    log?.forget(id);
  }
}
