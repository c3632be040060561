import { setTimeout as sleep } from 'node:timers/promises';
import { errorOfFailure, type ApiError } from '../../../gateway/kube/api-error.ts';
import type { KubeClient } from '../../../gateway/kube/client.ts';
import type { ResourceType } from '../../../gateway/kube/resource.ts';
import { RetryPause } from '../../../gateway/kube/retry-pause.ts';
import type { Logger } from '../../../gateway/contract/logger.ts';

export interface NamespaceReaderOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** What is watched in it. */
  readonly types: readonly ResourceType[];
  /** Begins to watch; resolves when everything has been listed. It is called again while that has not come to pass. */
  readonly watch: () => Promise<unknown>;
  /** Everything has been listed. */
  readonly onRead: () => void;
  readonly log: Logger;
  /** From 0 to 1. */
  readonly random: () => number;
}

/** How long the lists may take before it is asked again whether they are allowed: a right can go in between. */
const LISTS_MS = 10_000;
const ADVICE: Readonly<Record<number, string>> = {
  403: 'give the account of the operator its Role there (chart: operator.rbac.allowedNamespaces), or watch it no more',
  404: 'install the chart vmcp-crds',
};

/**
 * Gets one of several namespaces read. Where that is not allowed, because a right is missing or the namespace is gone,
 * the others do not wait for it; it is asked again until it is.
 */
export class NamespaceReader {
  isRead = false;
  /** When it has been read, or has been refused. */
  readonly settled: Promise<void>;
  readonly #settled = Promise.withResolvers<undefined>();
  readonly #options: NamespaceReaderOptions;
  readonly #pause: RetryPause;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #complained: string | undefined;

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
        if (await Promise.race([listed, this.#rest(LISTS_MS)])) {
          this.#complaintOver();
          this.isRead = true;
          onRead();
          this.#settled.resolve(undefined);
          return;
        }
      } else {
        await this.#rest(this.#pause.next());
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
        this.#complain(type, errorOfFailure(thrown));
        return false;
      }
    }
    return true;
  }

  /** Says each kind of trouble once. */
  #complain({ kind }: ResourceType, { status, reason, message }: ApiError): void {
    const { namespace, log } = this.#options;
    const advice = ADVICE[status];
    const fields = { namespace, kind, reason, status, error: message, ...(advice !== undefined && { advice }) };
    const level = reason === this.#complained ? 'debug' : 'warn';
    log[level]('a namespace cannot be read: nothing is done in it until it can', fields);
    this.#complained = reason;
    if (advice !== undefined) this.#settled.resolve(undefined);
  }

  #complaintOver(): void {
    if (this.#complained === undefined) return;
    const { namespace, log } = this.#options;
    log.info('a namespace is read now', { namespace, after: this.#complained });
  }

  async #rest(ms: number): Promise<false> {
    await sleep(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined);
    return false;
  }
}
