import type { Logger } from '../../../contract/logger.ts';
import type { Envelope } from '../../../http/json-scan.ts';
import { isObject } from '../../../contract/json.ts';
import type { ReplySink, RequestHandle } from '../channel.ts';
import { nextPauseMs } from '../../../kit/time.ts';

export interface ListenStreamOptions {
  /** Sends `subscriptions/listen` with this JSON text of `params`. */
  readonly send: (params: string, sink: ReplySink) => Promise<RequestHandle>;
  /** Capabilities of the backend. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly onMessage: (message: Buffer, envelope: Envelope) => void;
  readonly log: Logger;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
/** Time in which several changes of the filter become one. */
const SETTLE_MS = 20;

/**
 * Notifications of a backend without sessions: one stream of `subscriptions/listen`, opened again when it ends and when
 * what it must carry changes.
 */
export class ListenStream {
  readonly #options: ListenStreamOptions;
  readonly #uris = new Set<string>();
  #wantsLists = false;
  /** True while the backend has accepted the stream and not ended it. */
  isOpen = false;
  #handle: RequestHandle | undefined;
  #timer: NodeJS.Timeout | undefined;
  #retryMs = FIRST_RETRY_MS;
  /** Number of the newest stream: what earlier ones report does not count. */
  #generation = 0;
  #isClosed = false;

  constructor(options: ListenStreamOptions) {
    this.#options = options;
  }

  wantLists(wanted: boolean): void {
    if (wanted === this.#wantsLists) return;
    this.#wantsLists = wanted;
    this.#openAfter(0);
  }

  subscribe(uri: string): void {
    if (this.#uris.has(uri)) return;
    this.#uris.add(uri);
    this.#openAfter(SETTLE_MS);
  }

  unsubscribe(uri: string): void {
    if (this.#uris.delete(uri)) this.#openAfter(SETTLE_MS);
  }

  close(): void {
    this.#isClosed = true;
    this.isOpen = false;
    this.#generation += 1;
    clearTimeout(this.#timer);
    this.#handle?.cancel('the channel is closed');
  }

  #openAfter(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#open();
    }, ms).unref();
  }

  #open(): void {
    if (this.#isClosed) return;
    this.#generation += 1;
    this.isOpen = false;
    const before = this.#handle;
    this.#handle = undefined;
    const filter = this.#filter();
    if (Object.keys(filter).length > 0) this.#start(this.#generation, filter);
    before?.cancel('replaced'); // after the new request: no notification is lost between them
  }

  #start(generation: number, notifications: object): void {
    const isCurrent = (): boolean => generation === this.#generation;
    const again = (): void => {
      if (!isCurrent()) return;
      this.isOpen = false;
      this.#openAfter(this.#retryMs);
      this.#retryMs = nextPauseMs(this.#retryMs, LONGEST_RETRY_MS);
    };
    const sink: ReplySink = {
      reply: again,
      message: (message, envelope) => {
        this.#retryMs = FIRST_RETRY_MS;
        this.isOpen ||= isCurrent();
        const isOwn = envelope.id === undefined && envelope.method !== 'notifications/subscriptions/acknowledged';
        if (isCurrent() && isOwn) this.#options.onMessage(message, envelope);
      },
      fail: ({ kind, detail }) => {
        if (kind !== 'cancelled') this.#options.log.debug('stream of a backend failed', { reason: kind, detail });
        again();
      },
    };
    this.#options.send(JSON.stringify({ notifications }), sink).then(
      (handle) => {
        if (isCurrent()) this.#handle = handle;
        else handle.cancel('replaced');
      },
      (error: unknown) => {
        this.#options.log.debug('stream of a backend failed', { error: String(error) });
        again();
      },
    );
  }

  /** Returns what the backend can deliver of what is wanted. */
  #filter(): object {
    const has = (list: string, flag: string): boolean => {
      const capability = this.#options.capabilities[list];
      return isObject(capability) && capability[flag] === true;
    };
    const lists = this.#wantsLists ? (['tools', 'prompts', 'resources'] as const) : [];
    const changes = lists
      .filter((list) => has(list, 'listChanged'))
      .map((list): [string, true] => [`${list}ListChanged`, true]);
    const uris = has('resources', 'subscribe') ? [...this.#uris] : [];
    return { ...Object.fromEntries(changes), ...(uris.length > 0 && { resourceSubscriptions: uris }) };
  }
}
