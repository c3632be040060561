import tls, { type SecureContext } from 'node:tls';
import { certificatesOf } from './certificates.ts';
import { OutboundError } from './outbound-error.ts';
import { WatchedFile } from './watched-file.ts';
import type { Logger } from '../contract/logger.ts';

export interface TrustOptions {
  /** PEM certificates trusted beside the system's. */
  readonly ca?: readonly string[] | undefined;
  /** PEM bundle trusted beside the system's; followed when it changes. */
  readonly caFile?: string | undefined;
  readonly log?: Pick<Logger, 'warn'> | undefined;
  /** ms on a monotonic clock. */
  readonly now?: (() => number) | undefined;
}

/** Trusted certificate authorities of one configuration block. */
export class TrustedRoots {
  readonly #ca: readonly string[];
  readonly #file: WatchedFile | undefined;
  readonly #log: TrustOptions['log'];
  #context: SecureContext | undefined;
  /** File content that `#context` was created from, and content or error that was logged. */
  #bundle: string | undefined;
  #complaint: string | undefined;

  constructor({ ca = [], caFile, log, now }: TrustOptions) {
    this.#ca = ca;
    this.#file = caFile === undefined ? undefined : new WatchedFile(caFile, now);
    this.#log = log;
  }

  /**
   * Returns the same object until the file changes. An unusable file leaves the last valid one in use.
   * @throws OutboundError when there was no valid one yet.
   */
  context(): SecureContext {
    try {
      const bundle = this.#file?.text();
      if (!this.#context || bundle !== this.#bundle) {
        this.#context = this.#create(bundle);
        this.#bundle = bundle;
      }
      this.#complaint = undefined;
      return this.#context;
    } catch (error) {
      const fault = `the CA bundle cannot be used: ${error instanceof Error ? error.message : String(error)}`;
      if (!this.#context) throw new OutboundError('unreachable', fault);
      if (fault !== this.#complaint) this.#log?.warn('CA bundle is unusable, the last good one stays', { fault });
      this.#complaint = fault;
      return this.#context;
    }
  }

  #create(bundle: string | undefined): SecureContext {
    const own = bundle === undefined ? this.#ca : [...this.#ca, ...this.#certificates(bundle)];
    const minVersion = 'TLSv1.2';
    if (own.length === 0) return tls.createSecureContext({ minVersion });
    return tls.createSecureContext({ minVersion, ca: [...tls.getCACertificates('default'), ...own] });
  }

  #certificates(bundle: string): string[] {
    try {
      return certificatesOf(bundle);
    } catch (error) {
      throw new Error(`${this.#file?.path ?? ''} ${(error as Error).message}`, { cause: error });
    }
  }
}
