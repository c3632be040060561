import type { BackendRequest, BackendSession, Channel, ReplySink, RequestHandle, ServerFacts } from './channel.ts';

/** A channel that reports the end of its session once. */
export class MeasuredChannel implements Channel {
  readonly #channel: Channel;
  #onEnd: ((errorType: string | undefined) => void) | undefined;

  /** `onEnd` receives the `error.type` of a session that the backend ended; undefined after `close`. */
  constructor(channel: Channel, onEnd: (errorType: string | undefined) => void) {
    this.#channel = channel;
    this.#onEnd = onEnd;
  }

  get facts(): ServerFacts {
    return this.#channel.facts;
  }

  get alive(): boolean {
    return this.#channel.alive;
  }

  request(request: BackendRequest, sink: ReplySink): RequestHandle {
    return this.#channel.request(request, sink);
  }

  send(message: Buffer): void {
    this.#channel.send(message);
  }

  listen(): void {
    this.#channel.listen();
  }

  get hears(): boolean {
    return this.#channel.hears !== false;
  }

  unlisten(): void {
    this.#channel.unlisten?.();
  }

  get session(): BackendSession | undefined {
    return this.#channel.session;
  }

  /** Does not count as the end of the session. */
  release(): void {
    if (this.#channel.release) this.#channel.release();
    else void this.close();
  }

  /** Called when a channel that is no longer alive is replaced. */
  lost(): void {
    this.#ended('session_lost');
  }

  close(): Promise<void> {
    this.#ended(this.#channel.alive ? undefined : 'session_lost');
    return this.#channel.close();
  }

  #ended(errorType: string | undefined): void {
    this.#onEnd?.(errorType);
    this.#onEnd = undefined;
  }
}
