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
  /** PEM certificate and key that the client presents, both or neither; followed when they change. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly log?: Pick<Logger, 'warn'> | undefined;
  /** ms on a monotonic clock. */
  readonly now?: (() => number) | undefined;
}

/** Trusted certificate authorities of one configuration block, and the certificate that the client presents. */
export class TrustedRoots {
  readonly #ca: readonly string[];
  readonly #file: WatchedFile | undefined;
  readonly #own: readonly [certificate: WatchedFile, key: WatchedFile] | undefined;
  readonly #log: TrustOptions['log'];
  #context: SecureContext | undefined;
  /** File contents that `#context` was created from, and the error that was logged. */
  #contents: readonly (string | undefined)[] = [];
  #complaint: string | undefined;

  constructor({ ca = [], caFile, certFile, keyFile, log, now }: TrustOptions) {
    this.#ca = ca;
    this.#file = caFile === undefined ? undefined : new WatchedFile(caFile, now);
    if (certFile !== undefined && keyFile !== undefined) {
      this.#own = [new WatchedFile(certFile, now), new WatchedFile(keyFile, now)];
    }
    this.#log = log;
  }

  /**
   * Returns the same object until the file changes. An unusable file leaves the last valid one in use.
   * @throws OutboundError when there was no valid one yet.
   */
  context(): SecureContext {
    try {
      const contents = [this.#file, ...(this.#own ?? [])].map((file) => file?.text());
      if (!this.#context || contents.some((text, index) => text !== this.#contents[index])) {
        this.#context = this.#create(...contents);
        this.#contents = contents;
      }
      this.#complaint = undefined;
      return this.#context;
    } catch (error) {
      const what = this.#own ? 'the CA bundle or the client certificate' : 'the CA bundle';
      const fault = `${what} cannot be used: ${error instanceof Error ? error.message : String(error)}`;
      if (!this.#context) throw new OutboundError('unreachable', fault);
      if (fault !== this.#complaint) this.#log?.warn('CA bundle is unusable, the last good one stays', { fault });
      this.#complaint = fault;
      return this.#context;
    }
  }

  #create(bundle?: string, cert?: string, key?: string): SecureContext {
    const own = bundle === undefined ? this.#ca : [...this.#ca, ...this.#certificates(bundle)];
    const presented = cert === undefined || key === undefined ? {} : { cert, key };
    const options = { minVersion: 'TLSv1.2', ...presented } as const;
    if (own.length === 0) return tls.createSecureContext(options);
    return tls.createSecureContext({ ...options, ca: [...tls.getCACertificates('default'), ...own] });
  }

  #certificates(bundle: string): string[] {
    try {
      return certificatesOf(bundle);
    } catch (error) {
      throw new Error(`${this.#file?.path ?? ''} ${(error as Error).message}`, { cause: error });
    }
  }
}
