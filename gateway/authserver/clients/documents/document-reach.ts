import type { Logger } from '../../../contract/logger.ts';
import { isLoopbackUrl } from './client-id-url.ts';
import { setNewest } from '../../../kit/cache.ts';

/** `auto`: metadata documents are advertised while they can be fetched. */
export type Advertise = 'auto' | 'always' | 'never';

interface DocumentReachOptions {
  readonly advertise: Advertise;
  /** Sends a request, whose outcome is noted as any other. */
  readonly probe: (url: string) => Promise<unknown>;
  /** Called when hosts can be reached again. */
  readonly onReturn: () => void;
  /** ms since the epoch */
  readonly now: () => number;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  /** Pauses between probes; the last one repeats. */
  readonly pausesMs?: readonly number[] | undefined;
}

const PAUSES_MS = [2_000, 5_000, 10_000, 30_000, 60_000];
/** Time for which another host that was reached proves that this process may connect to hosts of clients. */
const PROOF_MS = 600_000;
const MAX_REACHED = 64;
const MAX_PROBED = 8;

/**
 * Finds out if this process can connect to hosts of clients. While it cannot, clients are not offered metadata documents, so
 * that they register instead, and the hosts are probed. A host that is down does not count after another host has answered.
 */
export class DocumentReach {
  readonly #options: DocumentReachOptions;
  /** Public hosts by the time of their last reply. */
  readonly #reached = new Map<string, number>();
  /** URL of each host that could not be reached, the latest one last. */
  readonly #unreachable = new Map<string, string>();
  #isOff = false;
  #timer: NodeJS.Timeout | undefined;
  #probes = 0;

  constructor(options: DocumentReachOptions) {
    this.#options = options;
  }

  get isAdvertised(): boolean {
    const { advertise } = this.#options;
    return advertise === 'always' || (advertise === 'auto' && !this.#isOff);
  }

  /** True while no host of a client can be reached, also if documents are advertised nevertheless. */
  get isCutOff(): boolean {
    return this.#isOff;
  }

  /** Notes a reply, also one without a usable document. */
  noteReply(url: string): void {
    const { host } = new URL(url);
    this.#unreachable.delete(host);
    if (!isLoopbackUrl(url)) setNewest(this.#reached, host, this.#options.now(), MAX_REACHED);
    else if (this.#unreachable.size > 0) return; // a loopback host proves nothing about others
    if (!this.#isOff) return;
    this.#isOff = false;
    this.close();
    this.#options.log.info('client metadata documents can be fetched again');
    this.#options.onReturn();
  }

  /** Notes that no connection to the host was possible. */
  noteFailure(url: string): void {
    const { now, log } = this.#options;
    const { host } = new URL(url);
    this.#reached.delete(host);
    setNewest(this.#unreachable, host, url, MAX_PROBED);
    const isProven = !isLoopbackUrl(url) && [...this.#reached.values()].some((at) => now() - at < PROOF_MS);
    if (this.#isOff || isProven) return;
    this.#isOff = true;
    this.#probes = 0;
    log.warn(
      'client metadata documents cannot be fetched: clients are asked to register instead. Allow connections to their hosts, ' +
        'list the documents in cimd.documents, or set cimd.enabled: false',
      { host, advertised: this.isAdvertised },
    );
    this.#probeLater();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #probeLater(): void {
    const { pausesMs = PAUSES_MS } = this.#options;
    const pauseMs = pausesMs[Math.min(this.#probes, pausesMs.length - 1)];
    this.#probes += 1;
    this.#timer = setTimeout(() => void this.#probe(), pauseMs).unref();
  }

  async #probe(): Promise<void> {
    const timer = this.#timer;
    for (const url of [...this.#unreachable.values()].toReversed()) {
      await this.#options.probe(url).catch(() => undefined); // the client of a retired configuration is closed
      if (this.#timer !== timer) return;
    }
    this.#probeLater();
  }
}
