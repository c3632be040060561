import type { ServerResponse } from 'node:http';
import type { Envelope } from '../../http/json-scan.ts';
import type { ReplySink } from '../transport/channel.ts';

/** Where the reply to one client request goes, whatever the client's transport is. */
export interface Answer extends Omit<ReplySink, 'fail'> {
  /** JSON text of the client's id. */
  readonly id: Buffer;
  /** `result` is JSON text. */
  result(result: Buffer | string): void;
  error(code: number, message: string, data?: unknown): void;
  /** Nobody waits for a reply any more: the exchange ends without one. */
  drop(): void;
  /** The reply broke off after a part of it was sent: the client's stream is cut. */
  cut(): void;
  /** False as long as nothing was sent. */
  readonly started: boolean;
  /** Calls back once when what was sent has drained. */
  onDrain(callback: () => void): void;
}

const HEAD = Buffer.from('{"jsonrpc":"2.0","id":');
const RESULT = Buffer.from(',"result":');
const CLOSE = Buffer.from('}');

/** The pieces of a response; `result` is JSON text and is not copied. */
const resultPieces = (id: Buffer, result: Buffer | string): [Buffer, Buffer, Buffer] => [
  Buffer.concat([HEAD, id, RESULT]),
  typeof result === 'string' ? Buffer.from(result) : result,
  CLOSE,
];

export const errorMessage = (id: Buffer | null, code: number, message: string, data?: unknown): Buffer => {
  const error = JSON.stringify(data === undefined ? { code, message } : { code, message, data });
  return Buffer.from(`{"jsonrpc":"2.0","id":${id === null ? 'null' : id.toString()},"error":${error}}`);
};

/** One SSE event. Line breaks of the message, which JSON allows between values only, become spaces. */
export function sseEvent(message: Buffer): Buffer {
  return Buffer.concat([EVENT, oneLine(message), EVENT_END]);
}

const EVENT = Buffer.from('event: message\ndata: ');
const EVENT_END = Buffer.from('\n\n');

function oneLine(message: Buffer): Buffer {
  if (!message.includes(0x0a) && !message.includes(0x0d)) return message;
  const copy = Buffer.from(message);
  for (let at = 0; at < copy.length; at += 1) if (copy[at] === 0x0a || copy[at] === 0x0d) copy[at] = 0x20;
  return copy;
}

const JSON_TYPE = 'application/json';

/** The reply to a POST: JSON, or an event stream as soon as a message comes before the reply. */
export class PostAnswer implements Answer {
  readonly id: Buffer;
  readonly #res: ServerResponse;
  #streaming = false;
  #inPart = false;

  constructor(res: ServerResponse, id: Buffer) {
    this.#res = res;
    this.id = id;
  }

  get started(): boolean {
    return this.#res.headersSent;
  }

  result(result: Buffer | string): void {
    const [head, body, close] = resultPieces(this.id, result);
    const res = this.#res;
    if (this.#streaming) {
      res.end(sseEvent(Buffer.concat([head, body, close])));
      return;
    }
    res.writeHead(200, { 'content-type': JSON_TYPE, 'content-length': head.length + body.length + 1 });
    res.write(head);
    res.write(body);
    res.end(close);
  }

  error(code: number, message: string, data?: unknown): void {
    this.reply(errorMessage(this.id, code, message, data));
  }

  reply(message: Buffer): void {
    const res = this.#res;
    if (this.#streaming) {
      res.end(sseEvent(message));
      return;
    }
    res.writeHead(200, { 'content-type': JSON_TYPE, 'content-length': message.length });
    res.end(message);
  }

  part(piece: Buffer): boolean {
    const res = this.#res;
    if (this.#streaming) {
      if (!this.#inPart) res.write(EVENT);
      this.#inPart = true;
      return res.write(oneLine(piece)) || res.destroyed;
    }
    if (!res.headersSent) res.writeHead(200, { 'content-type': JSON_TYPE });
    return res.write(piece) || res.destroyed;
  }

  end(): void {
    this.#res.end(this.#streaming ? EVENT_END : undefined);
  }

  message(message: Buffer, _envelope: Envelope): void {
    if (!this.#streaming) {
      this.#streaming = true;
      this.#res.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache',
        'x-accel-buffering': 'no',
      });
    }
    this.#res.write(sseEvent(message));
  }

  drop(): void {
    if (!this.#res.headersSent) this.#res.writeHead(202, { 'content-length': 0 });
    this.#res.end();
  }

  cut(): void {
    this.#res.destroy();
  }

  onDrain(callback: () => void): void {
    const done = (): void => {
      this.#res.off('drain', done).off('close', done);
      callback();
    };
    this.#res.once('drain', done).once('close', done);
  }
}
