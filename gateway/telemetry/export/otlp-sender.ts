import { setTimeout as sleep } from 'node:timers/promises';
import { FileUnreadable } from '../../outbound/watched-file.ts';
import { OutboundError } from '../../outbound/outbound-error.ts';
import type { Outbound } from '../../outbound/fetch.ts';
import { nextPauseMs } from '../../kit/time.ts';

export type Signal = 'traces' | 'metrics';

export interface OtlpSenderOptions {
  readonly signal: Signal;
  /** Endpoint without the path of the signal. */
  readonly endpoint: string;
  /** Returns the configured headers, with the current values of files. May throw. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly outbound: Pick<Outbound, 'requestBytes'>;
  /** Aborted when the export closes. */
  readonly signalClosed: AbortSignal;
}

/** Reply of the collector to one export. */
export interface Sent {
  readonly body: Buffer;
}

/** Longest export with all its retries, ms. */
export const EXPORT_TIMEOUT_MS = 10_000;
const FIRST_PAUSE_MS = 1_000;
const MAX_REPLY_BYTES = 64 * 1024;
/** @see OpenTelemetry Protocol Specification, Retryable Response Codes */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** The collector did not accept an export. `message` has no secret. */
export class ExportFailed extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'ExportFailed';
  }
}

/** Sends exports of one signal by OTLP over HTTP, as protobuf. Retries while the collector asks for it. */
export class OtlpSender {
  readonly #options: OtlpSenderOptions;
  readonly #url: string;

  constructor(options: OtlpSenderOptions) {
    this.#options = options;
    this.#url = `${options.endpoint.replace(/\/$/u, '')}/v1/${options.signal}`;
  }

  /** Rejects with `ExportFailed`. */
  async send(body: Uint8Array): Promise<Sent> {
    const end = performance.now() + EXPORT_TIMEOUT_MS;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = nextPauseMs(pauseMs, EXPORT_TIMEOUT_MS)) {
      const reply = await this.#request(body, end - performance.now());
      if (reply.status >= 200 && reply.status < 300) return { body: reply.body };
      const failed = new ExportFailed(`the collector answered HTTP ${String(reply.status)}`);
      const waitMs = Number(reply.headers['retry-after']) * 1_000 || pauseMs;
      if (!RETRYABLE.has(reply.status) || performance.now() + waitMs >= end) throw failed;
      await sleep(waitMs, undefined, { ref: false, signal: this.#options.signalClosed }).catch(() => {
        throw failed;
      });
    }
  }

  async #request(body: Uint8Array, timeoutMs: number) {
    const { outbound, headers, signalClosed: signal } = this.#options;
    try {
      return await outbound.requestBytes({
        url: this.#url,
        method: 'POST',
        headers: { ...headers(), 'content-type': 'application/x-protobuf' },
        body: Buffer.from(body.buffer, body.byteOffset, body.byteLength),
        maxBytes: MAX_REPLY_BYTES,
        timeoutMs,
        signal,
      });
    } catch (error) {
      const isKnown = [OutboundError, FileUnreadable, ExportFailed].some((kind) => error instanceof kind);
      throw new ExportFailed(isKnown && error instanceof Error ? error.message : 'the export failed unexpectedly');
    }
  }
}
