import type { Dispatcher } from 'undici';
import { scanBackendEnvelope, ScanError, type Envelope } from '../../../http/json-scan.ts';
import type { Account } from '../../budgets/account.ts';
import { Collected } from '../../budgets/collected.ts';
import type { StreamPlaces } from '../../budgets/stream-places.ts';
import { mediaTypeOf } from '../reply.ts';
import { createSseParser } from '../sse-parser.ts';
import type { Logger } from '../../../contract/logger.ts';
import { decodedPieces, replyCoding } from './body-decoder.ts';
import { requestFollowing, type RedirectPlace } from './redirect.ts';
import { nextPauseMs } from '../../../kit/time.ts';

export interface ListenerOptions {
  readonly dispatcher: Dispatcher;
  readonly place: RedirectPlace;
  /** Returns the headers of the GET, as a flat list, with the current credential. */
  readonly headers: () => Promise<readonly string[]>;
  readonly maxEventBytes: number;
  readonly onMessage: (message: Buffer, envelope: Envelope) => void;
  /** Called when a stream that was open before is answered like a lost session. */
  readonly onSessionLost: () => void;
  readonly places: StreamPlaces;
  /** Budgets of the session; undefined for the gateway's own channel. */
  readonly account: Account | undefined;
  readonly log: Logger;
}

/** Temporary 4xx statuses of a backend with a stream: login required, too slow, still open elsewhere, too many requests. */
const PASSING: ReadonlySet<number> = new Set([401, 408, 409, 425, 429]);

/** Answers to a GET in a session that the backend does not know any more. */
const LOST: ReadonlySet<number> = new Set([400, 404, 410]);

const FIRST_RETRY_MS = 1_000;
const SHORTEST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 30_000;

/**
 * A backend's unsolicited stream (GET), kept open in the background. Reconnects with `Last-Event-ID` after it ends and the
 * time in `retry` has passed, and stops for good when the backend has no stream (405, 404, 400).
 * @see MCP 2025-11-25, basic/transports, Listening for Messages from the Server
 */
export class StreamListener {
  readonly #options: ListenerOptions;
  readonly #abort = new AbortController();
  /** True while the backend can send messages. */
  isOpen = false;
  #lastEventId: string | undefined;
  #wasOpen = false;
  #retryMs = FIRST_RETRY_MS;
  /** Shortest wait that the backend asks for by `retry`. */
  #askedMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#run();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#abort.abort();
  }

  #run(): void {
    const { signal } = this.#abort;
    this.#connect()
      .catch((error: unknown) => {
        if (!signal.aborted) this.#options.log.debug('stream of a backend failed', { error: String(error) });
      })
      .finally(() => {
        this.isOpen = false;
        if (signal.aborted) return;
        this.#timer = setTimeout(() => {
          this.#run();
        }, this.#retryMs).unref();
        this.#retryMs = Math.max(nextPauseMs(this.#retryMs, LONGEST_RETRY_MS), this.#askedMs);
      });
  }

  async #connect(): Promise<void> {
    const { account, places } = this.#options;
    if (!account) {
      await this.#receive(undefined);
      return;
    }
    if (!places.take(account.principal)) {
      account.refused('streams');
      this.#retryMs = LONGEST_RETRY_MS;
      throw new Error('too many streams are open at this backend');
    }
    const collected = new Collected(account);
    try {
      await this.#receive(collected);
    } finally {
      collected.release();
      places.leave(account.principal);
    }
  }

  /** Reads one stream to its end. */
  async #receive(collected: Collected | undefined): Promise<void> {
    const { dispatcher, place, maxEventBytes } = this.#options;
    const sent = await this.#options.headers();
    const resume = this.#lastEventId === undefined ? [] : ['last-event-id', this.#lastEventId];
    const { statusCode, headers, body } = await requestFollowing(dispatcher, place, {
      method: 'GET',
      headers: [...sent, ...resume],
      signal: this.#abort.signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    if (statusCode !== 200 || mediaTypeOf(headers['content-type']) !== 'text/event-stream') {
      await body.dump();
      if (statusCode < 500 && !PASSING.has(statusCode)) this.#abort.abort();
      if (LOST.has(statusCode) && this.#wasOpen) this.#options.onSessionLost();
      return;
    }
    this.#wasOpen = true;
    const coding = replyCoding(headers['content-encoding']);
    this.isOpen = true;
    const parser = createSseParser((event) => {
      this.#lastEventId = event.id ?? this.#lastEventId;
      if (event.retry !== undefined) {
        this.#askedMs = event.retry;
        this.#retryMs = Math.max(event.retry, SHORTEST_RETRY_MS);
      }
      if (event.event === 'message') this.#onData(event.data);
    }, maxEventBytes);
    for await (const piece of decodedPieces(body, coding)) {
      parser.push(piece);
      if (collected?.fits(parser.pending()) === false) throw new Error('an event does not fit into the budget');
    }
    this.#retryMs = Math.max(FIRST_RETRY_MS, this.#askedMs);
  }

  #onData(data: Buffer): void {
    if (data.length === 0) return;
    try {
      this.#options.onMessage(data, scanBackendEnvelope(data));
    } catch (error) {
      if (!(error instanceof ScanError)) throw error;
      this.#options.log.debug('event of a backend ignored', { reason: error.message });
    }
  }
}
