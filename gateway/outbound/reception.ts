import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { ByteCollector } from '../bytes/byte-collector.ts';
import { tooLarge, OutboundError } from './outbound-error.ts';
import { codingOf, UnknownCoding, type Coding } from '../bytes/content-coding.ts';

/**
 * Returns the decoded body, limited to `maxBytes`.
 * @param encoding value of `Content-Encoding`
 * @throws OutboundError, or the error of zlib
 */
export async function unpack(body: Buffer, encoding: string, maxBytes: number): Promise<Buffer> {
  const coding = readableCoding(encoding);
  if (!coding || body.length === 0) return body;
  try {
    return await coding.decode(body, { maxOutputLength: maxBytes });
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(maxBytes) : error;
  }
}

function readableCoding(encoding: string): Coding | undefined {
  try {
    return codingOf(encoding);
  } catch (error) {
    throw error instanceof UnknownCoding
      ? new OutboundError('unreachable', `the reply cannot be read: ${error.message}`)
      : error;
  }
}

/** Received reply; the body may be compressed. */
export interface RawReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface ReceptionOptions {
  /** Limit of the body as received, before it is unpacked. */
  readonly maxBytes: number;
  /** Returns true when the body of a reply with this status is not needed. */
  readonly isUnread: (status: number) => boolean;
}

/** Collects the complete reply of one undici request. */
export class Reception implements Dispatcher.DispatchHandler {
  /** Rejects with the error of undici, with `OutboundError`, or with the reason of `abort`. */
  readonly reply: Promise<RawReply>;
  readonly #options: ReceptionOptions;
  readonly #settle = Promise.withResolvers<RawReply>();
  readonly #pieces = new ByteCollector();
  #head: Omit<RawReply, 'body'> = { status: 0, headers: {} };
  #controller: Dispatcher.DispatchController | undefined;
  #aborted: Error | undefined;

  constructor(options: ReceptionOptions) {
    this.#options = options;
    this.reply = this.#settle.promise;
  }

  /** At once, though undici lets a request that waits for a connection learn of its end only when that is made. */
  abort(reason: Error): void {
    this.#aborted ??= reason;
    this.#settle.reject(reason);
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#aborted) controller.abort(this.#aborted);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return; // another one follows. RFC 9110 §15.2
    const { maxBytes, isUnread } = this.#options;
    this.#head = { status, headers };
    if (isUnread(status)) {
      this.onResponseEnd();
      this.abort(new Error('the body is not read'));
    } else if (Number(headers['content-length']) > maxBytes) this.abort(tooLarge(maxBytes));
  }

  onResponseData(_: Dispatcher.DispatchController, piece: Buffer): void {
    const { maxBytes } = this.#options;
    if (this.#pieces.length + piece.length > maxBytes) this.abort(tooLarge(maxBytes));
    else this.#pieces.push(piece);
  }

  onResponseEnd(): void {
    this.#settle.resolve({ ...this.#head, body: this.#pieces.take() });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#settle.reject(error);
  }
}
