import { Writable } from 'node:stream';
import type { Identity } from '../../contract/identity.ts';
import { CODE } from '../error-codes.ts';
import { errorMessage } from '../message.ts';
import type { Session, Sessions } from '../session.ts';
import type { LoggedEvent } from '../stream-log.ts';
import type { EventLog } from './event-log.ts';
import type { Mailbox } from './messages.ts';
import { afterTimeout, within } from '../../kit/time.ts';

/** Longest wait for the replica with the stream. */
const ANSWER_MS = 2_000;
const CHECK_EVERY_MS = 2_000;

/** Part of the id of a stream that names its replica. */
const OWNER = /^p([0-9a-z]{8})[0-9a-z]+$/u;

const NOTHING = Buffer.alloc(0);

type Copy = ReturnType<Session['streams']['openCopy']>;

/** A stream of another replica whose client is connected to this one. */
interface Incoming {
  readonly from: string;
  copy: Copy | undefined;
  /** Number of the next piece. */
  next: number;
  readonly begin: () => Copy;
  readonly settled: PromiseWithResolvers<Followed>;
}

/** Result of following a stream. `over`: nothing comes after the last event that the client has. `unknown`: nobody has its events. */
type Followed = 'followed' | 'over' | 'unknown';

export interface StreamPipesOptions {
  readonly sessions: Sessions;
  readonly events: EventLog;
  readonly mailbox: Mailbox;
}

/**
 * Streams that clients resume at another replica than the one with the call. That one goes on writing to the stream, and
 * its bytes pass through the store. When it has stopped, the log of the stream is all that is left.
 */
export class StreamPipes {
  readonly #options: StreamPipesOptions;
  readonly #incoming = new Map<string, Incoming>();
  readonly #outgoing = new Map<string, Outgoing>();
  #last = 0;

  constructor(options: StreamPipesOptions) {
    this.#options = options;
    const { mailbox } = options;
    mailbox.on('follow', (fields, _body, from) => {
      this.#serve(fields, from);
    });
    mailbox.on('following', ({ pipe }, _body, from) => {
      if (!this.#outgoing.has(pipe)) mailbox.post(from, 'unpiped', { pipe });
    });
    mailbox.on('piped', ({ pipe, piece }, body, from) => {
      const incoming = this.#incoming.get(pipe);
      if (!incoming) {
        mailbox.post(from, 'unpiped', { pipe });
        return;
      }
      incoming.copy ??= incoming.begin();
      incoming.settled.resolve('followed');
      if (piece === 0) return;
      if (piece !== incoming.next) {
        this.#incoming.delete(pipe);
        mailbox.post(from, 'unpiped', { pipe });
        incoming.copy.end(); // the client resumes after the last event that it has
        return;
      }
      incoming.next += 1;
      incoming.copy.pass(Buffer.from(body));
    });
    mailbox.on('unpiped', ({ pipe, isOver }) => {
      this.#outgoing.get(pipe)?.destroy();
      const incoming = this.#incoming.get(pipe);
      this.#incoming.delete(pipe);
      incoming?.settled.resolve(isOver === true ? 'over' : 'unknown');
      incoming?.copy?.end();
    });
  }

  /**
   * Continues a stream of another replica after event `after` on `res`, where some of its events are kept. Rejects with
   * `KeyValueStoreUnavailable`.
   */
  async follow(session: Session, stream: string, after: number, res: Writable, identity?: Identity): Promise<Followed> {
    const owner = OWNER.exec(stream)?.[1];
    const { mailbox, events } = this.#options;
    if (owner === undefined || owner === mailbox.replica || !session.shared) return 'unknown';
    const begin = (): Copy => {
      const copy = session.streams.openCopy(stream);
      copy.attach(res, undefined, identity);
      return copy;
    };
    const piped = await this.#pipe(owner, { session: session.id, stream, after }, begin, res, stream);
    if (piped !== 'unknown') return piped;
    const kept = await events.read(session.id, stream);
    if (kept.length === 0) return 'unknown';
    const rest = restOf(stream, kept, after);
    if (rest.length === 0) return 'over';
    finish(begin(), rest);
    return 'followed';
  }

  /** Returns `unknown` also when the owner does not answer. */
  async #pipe(
    owner: string,
    place: { readonly session: string; readonly stream: string; readonly after: number },
    begin: () => Copy,
    res: Writable,
    stream: string,
  ): Promise<Followed> {
    const { mailbox } = this.#options;
    if (!(await mailbox.isRunning(owner))) return 'unknown';
    const pipe = `${mailbox.replica}${String((this.#last += 1))}`;
    const incoming: Incoming = {
      from: owner,
      copy: undefined,
      next: 1,
      begin,
      settled: Promise.withResolvers<Followed>(),
    };
    this.#incoming.set(pipe, incoming);
    const isSent = await mailbox.send(owner, 'follow', { ...place, pipe }).then(
      () => true,
      () => false,
    );
    const answer = incoming.settled.promise;
    const followed = isSent ? await within(ANSWER_MS, answer, 'unknown' as const, { after: afterTimeout }) : 'unknown';
    if (followed !== 'followed') {
      this.#incoming.delete(pipe);
      return followed;
    }
    const timer = setInterval(() => {
      this.#check(pipe, incoming, place.session, stream).catch(() => undefined);
    }, CHECK_EVERY_MS).unref();
    const closed = (): void => {
      clearInterval(timer);
      if (this.#incoming.delete(pipe)) mailbox.post(owner, 'unpiped', { pipe });
      incoming.copy?.end(); // a client that left before the copy began
    };
    if (res.destroyed) closed();
    else res.once('close', closed);
    return followed;
  }

  /** Ends a stream whose replica has stopped. */
  async #check(pipe: string, { from, copy }: Incoming, session: string, stream: string): Promise<void> {
    const { mailbox, events } = this.#options;
    if (await mailbox.isRunning(from)) {
      mailbox.post(from, 'following', { pipe });
      return;
    }
    const kept = await events.read(session, stream);
    if (!this.#incoming.delete(pipe) || !copy) return;
    finish(copy, errorAfter(stream, kept));
  }

  /** Writes a stream of this process for a client of replica `to`. */
  #serve(
    { session, stream: id, after, pipe }: { session: string; stream: string; after: number; pipe: string },
    to: string,
  ): void {
    const { sessions, mailbox } = this.#options;
    const outgoing = new Outgoing(mailbox, to, pipe);
    outgoing.cork();
    const stream = sessions.known(session)?.streams.find(id);
    if (stream?.isOverAfter(after) === true || stream?.attach(outgoing, after) !== true) {
      mailbox.post(to, 'unpiped', { pipe, unknown: true, isOver: stream?.isOverAfter(after) === true });
      return;
    }
    this.#outgoing.set(pipe, outgoing);
    outgoing.once('close', () => this.#outgoing.delete(pipe));
    mailbox.post(to, 'piped', { pipe, piece: 0 }, NOTHING);
    outgoing.uncork();
  }
}

/** Returns the events after `after`, and an error for a call whose end is not among the kept events. */
function restOf(stream: string, kept: readonly LoggedEvent[], after: number): readonly Buffer[] {
  const missed = kept.flatMap(({ sequence, bytes }) => (bytes && sequence > after ? [bytes] : []));
  const hasError = (kept.at(-1)?.sequence ?? 0) < after; // the client got it when it resumed before
  return hasError ? missed : [...missed, ...errorAfter(stream, kept)];
}

/** Returns the event with the error for a call whose replica has stopped before the call ended. */
function errorAfter(stream: string, kept: readonly LoggedEvent[]): readonly Buffer[] {
  const last = kept.at(-1);
  if (!last?.bytes) return [];
  const error = lostCall(last.request).toString();
  return [Buffer.from(`event: message\nid: ${stream}.${String(last.sequence + 1)}\ndata: ${error}\n\n`)];
}

function finish(copy: Copy, rest: readonly Buffer[]): void {
  for (const bytes of rest) copy.pass(bytes);
  copy.end();
}

/** Returns the error for a call whose replica has stopped. `id` is JSON text. */
export const lostCall = (id: string): Buffer =>
  errorMessage(Buffer.from(id), CODE.internal, 'the replica with the call has stopped: send the request again', {
    reason: 'call_lost',
  });

/** Connection of a stream to a client at another replica. */
class Outgoing extends Writable {
  readonly #mailbox: Mailbox;
  readonly #to: string;
  readonly #pipe: string;
  #piece = 0;

  constructor(mailbox: Mailbox, to: string, pipe: string) {
    super();
    this.#mailbox = mailbox;
    this.#to = to;
    this.#pipe = pipe;
    this.on('error', () => undefined); // the stream then waits for its client
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error) => void): void {
    this.#piece += 1;
    this.#mailbox.send(this.#to, 'piped', { pipe: this.#pipe, piece: this.#piece }, chunk).then(() => {
      callback();
    }, callback);
  }

  override _final(callback: () => void): void {
    this.#mailbox.post(this.#to, 'unpiped', { pipe: this.#pipe });
    callback();
  }
}
