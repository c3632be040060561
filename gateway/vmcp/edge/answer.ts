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
  /** The reply broke off after a part of it was sent: the client's stream is cut. */
  cut(): void;
  /** False as long as nothing was sent. */
  readonly started: boolean;
  /** Calls back once when what was sent has drained. */
  onDrain(callback: () => void): void;
}

export const resultMessage = (id: Buffer, result: Buffer | string): Buffer => {
  const head = Buffer.from('{"jsonrpc":"2.0","id":');
  const middle = Buffer.from(',"result":');
  const body = typeof result === 'string' ? Buffer.from(result) : result;
  return Buffer.concat([head, id, middle, body, CLOSE]);
};

const CLOSE = Buffer.from('}');

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

const JSON_HEADERS = 'application/json';

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
    this.reply(resultMessage(this.id, result));
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
    res.writeHead(200, { 'content-type': JSON_HEADERS, 'content-length': message.length });
    res.end(message);
  }

  part(piece: Buffer): boolean {
    const res = this.#res;
    if (this.#streaming) {
      if (!this.#inPart) res.write(EVENT);
      this.#inPart = true;
      return res.write(oneLine(piece)) || res.destroyed;
    }
    if (!res.headersSent) res.writeHead(200, { 'content-type': JSON_HEADERS });
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
