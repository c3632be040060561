import type { IncomingMessage } from 'node:http';
import { ByteCollector } from '../../bytes/byte-collector.ts';
import { addressKey } from '../client-address.ts';
import { markCounted } from '../connections/closable-connections.ts';
import { DISCARDED_BODIES, LARGE_BODIES, type ReadingTurn } from './reading-turns.ts';
import { costOf } from './unread-pieces.ts';

export interface BodyLimits {
  /** Maximum length of a body, in bytes. */
  readonly limit: number;
  /** Maximum length of a body that is kept in memory. A longer one is only counted. Default: `limit`. */
  readonly kept?: number | undefined;
  /** Reserves memory as a large body grows. Returning false stops the reading. */
  readonly hold?: ((bytes: number) => boolean) | undefined;
  /** Returns the key by which a large body takes turns with others. Default: the address of the peer. */
  readonly keyOf?: ((req: IncomingMessage) => string) | undefined;
}

/** Bodies up to this size need no reservation. */
const UNCOUNTED_BYTES = 16 * 1024;
/** Bodies that cost more are read in turns. */
const PACED_COST = 256 * 1024;

const peerKey = ({ socket }: IncomingMessage): string => addressKey(socket.remoteAddress ?? '');

/** Reasons for a missing body: longer than `limit`, longer than `kept`, rejected by `hold`, or the client has disconnected. */
export type BodyRefusal = 'too_large' | 'not_kept' | 'not_held' | 'gone';

/**
 * Reads a request body. Calls exactly one callback: `onBody` with the whole body, or `onRefused`. Counts the bytes, because
 * Content-Length may be wrong.
 */
export function readBody(
  req: IncomingMessage,
  limits: BodyLimits,
  onBody: (body: Buffer) => void,
  onRefused: (why: BodyRefusal) => void,
): void {
  const { limit, kept = limit, hold } = limits;
  const declared = Number(req.headers['content-length'] ?? 0);
  if (declared > limit) {
    onRefused('too_large');
    return;
  }
  if (declared > UNCOUNTED_BYTES && hold) {
    // checked, then released: a client may declare a large body and send nothing
    if (!hold(Math.min(declared, kept))) {
      onRefused('not_held');
      return;
    }
    hold(0);
  }
  (req as ReadRequest)[READING] = new BodyReading(req, limits, onBody, onRefused);
  req.on('data', onData);
  req.on('end', onEnd);
  req.on('close', onClose);
}

const READING = Symbol('reading');

interface ReadRequest extends IncomingMessage {
  [READING]?: BodyReading;
}

function onData(this: ReadRequest, chunk: Buffer): void {
  this[READING]?.received(chunk);
}

function onEnd(this: ReadRequest): void {
  this[READING]?.ended();
}

function onClose(this: ReadRequest): void {
  this[READING]?.refuse('gone');
}

/** A body that is being read. */
class BodyReading {
  readonly #req: IncomingMessage;
  readonly #limits: BodyLimits;
  readonly #kept: number;
  readonly #onBody: (body: Buffer) => void;
  readonly #onRefused: (why: BodyRefusal) => void;
  #first: Buffer | undefined;
  /** Present from the second piece on: most bodies have one. */
  #all: ByteCollector | undefined;
  #length = 0;
  #cost = 0;
  #turn: ReadingTurn | undefined;
  #isDone = false;

  constructor(
    req: IncomingMessage,
    limits: BodyLimits,
    onBody: (body: Buffer) => void,
    onRefused: (why: BodyRefusal) => void,
  ) {
    this.#req = req;
    this.#limits = limits;
    this.#kept = limits.kept ?? limits.limit;
    this.#onBody = onBody;
    this.#onRefused = onRefused;
  }

  received(chunk: Buffer): void {
    if (this.#isDone) return;
    const { limit, hold } = this.#limits;
    const wasKept = this.#length <= this.#kept;
    this.#length += chunk.length;
    if (this.#length > limit) this.refuse('too_large');
    else if (this.#length > this.#kept) {
      if (wasKept) this.#stopKeeping();
      this.#awaitTurn(chunk);
    } else if (hold && this.#length > UNCOUNTED_BYTES && !this.#hold(hold)) this.refuse('not_held');
    else {
      this.#keep(chunk);
      this.#awaitTurn(chunk);
    }
  }

  ended(): void {
    if (this.#isDone) return;
    if (this.#length > this.#kept) {
      this.refuse('not_kept');
      return;
    }
    this.#isDone = true;
    markCounted(this.#req, this.#length);
    const body = this.#all?.take() ?? this.#first ?? Buffer.alloc(0);
    this.#release(); // the request and this object live until the reply ends
    this.#onBody(body);
  }

  refuse(why: BodyRefusal): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#release();
    this.#onRefused(why);
  }

  /** Reserves what has arrived. Returns false when there is no room. */
  #hold(hold: (bytes: number) => boolean): boolean {
    markCounted(this.#req, this.#length);
    return hold(this.#length);
  }

  #keep(chunk: Buffer): void {
    if (this.#first === undefined) this.#first = chunk;
    else {
      if (this.#all === undefined) {
        this.#all = new ByteCollector();
        this.#all.push(this.#first);
      }
      this.#all.push(chunk);
    }
  }

  #awaitTurn(chunk: Buffer): void {
    const cost = costOf(this.#req, chunk);
    this.#cost += cost;
    if (this.#cost <= PACED_COST) return;
    if (this.#turn === undefined) {
      const turns = this.#length > this.#kept ? DISCARDED_BODIES : LARGE_BODIES;
      this.#turn = turns.open(this.#req, (this.#limits.keyOf ?? peerKey)(this.#req));
    }
    this.#turn.received(cost);
  }

  #stopKeeping(): void {
    this.#release();
    this.#limits.hold?.(0);
  }

  #release(): void {
    this.#first = this.#all = undefined;
    this.#turn?.close();
    this.#turn = undefined;
  }
}
