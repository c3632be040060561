import { setTimeout as sleep } from 'node:timers/promises';
import { errorOfFailure, type ApiError } from '../../../gateway/kube/api-error.ts';
import type { KubeClient } from '../../../gateway/kube/client.ts';
import type { ResourceType } from '../../../gateway/kube/resource.ts';
import { RetryPause } from '../../../gateway/kube/retry-pause.ts';
import type { Logger } from '../../../gateway/contract/logger.ts';
import { within } from '../../../gateway/kit/time.ts';

export interface NamespaceReaderOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Types to watch in the namespace. */
  readonly types: readonly ResourceType[];
  /** Starts to watch and resolves when everything has been listed. Called again until it resolves. */
  readonly watch: () => Promise<unknown>;
  /** Called when everything has been listed. */
  readonly onRead: () => void;
  readonly log: Logger;
  /** From 0 to 1. */
  readonly random: () => number;
}

/** Timeout for the lists. Then the permissions are checked again, because one may have been revoked. */
const LISTS_MS = 10_000;
const ADVICE: Readonly<Record<number, string>> = {
  403: 'grant the Role in this namespace to the operator (chart: operator.rbac.allowedNamespaces), or stop watching the namespace',
  404: 'install the chart vmcp-crds',
};

/**
 * Reads one of several namespaces. When a permission is missing or the namespace does not exist, the other namespaces do
 * not wait for it, and reading is retried until it succeeds.
 */
export class NamespaceReader {
  isRead = false;
  /** Resolves when the namespace has been read or the API server has rejected it. */
  readonly settled: Promise<void>;
  readonly #settled = Promise.withResolvers<undefined>();
  readonly #options: NamespaceReaderOptions;
  readonly #pause: RetryPause;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #lastReason: string | undefined;

  constructor(options: NamespaceReaderOptions) {
    this.#options = options;
    this.#pause = new RetryPause(options.random);
    this.settled = this.#settled.promise;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { watch, onRead } = this.#options;
    while (!this.#closing.signal.aborted) {
      if (await this.#isAllowed()) {
        const listed = watch().then(() => true);
        if (await within(LISTS_MS, listed, false, { signal: this.#closing.signal })) {
          this.#logRecovery();
          this.isRead = true;
          onRead();
          this.#settled.resolve(undefined);
          return;
        }
      } else {
        await this.#wait(this.#pause.next());
      }
    }
  }

  async #isAllowed(): Promise<boolean> {
    const { client, namespace, types } = this.#options;
    for (const type of types) {
      if (this.#closing.signal.aborted) return false;
      try {
        await client.list(type, { namespace, limit: 1, metadataOnly: true });
      } catch (thrown) {
        this.#logFailure(type, errorOfFailure(thrown));
        return false;
      }
    }
    return true;
  }

  /** Logs a warning once for each reason. */
  #logFailure({ kind }: ResourceType, { status, reason, message }: ApiError): void {
    const { namespace, log } = this.#options;
    const advice = ADVICE[status];
    const fields = { namespace, kind, reason, status, error: message, ...(advice !== undefined && { advice }) };
    const level = reason === this.#lastReason ? 'debug' : 'warn';
    log[level]('namespace cannot be read: its objects are not reconciled', fields);
    this.#lastReason = reason;
    if (advice !== undefined) this.#settled.resolve(undefined);
  }

  #logRecovery(): void {
    if (this.#lastReason === undefined) return;
    const { namespace, log } = this.#options;
    log.info('namespace can be read again', { namespace, after: this.#lastReason });
  }

  async #wait(ms: number): Promise<false> {
    await sleep(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined);
    return false;
  }
}
