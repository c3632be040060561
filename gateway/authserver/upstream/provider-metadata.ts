import type { ServerMetadata } from 'openid-client';
import type { Outbound } from '../../outbound/fetch.ts';
import { policyFor, type OutboundFlags } from '../../outbound/policy.ts';
import { toUpstreamError, UpstreamError, type UpstreamFault } from './upstream-error.ts';
import { authorizationFaultIn, endpointFaultIn, shapeFaultIn } from './metadata-faults.ts';
import { ProviderTransport } from './protocol/transport.ts';
import type { UpstreamStatus } from './upstream.ts';
import type { Logger } from '../../contract/logger.ts';
import { SingleFlight } from '../../kit/tasks.ts';

interface ProviderMetadataOptions extends OutboundFlags {
  readonly issuer: string;
  readonly clientId: string;
  readonly outbound: Outbound;
  readonly timeoutMs: number;
  readonly now: () => number;
  readonly log: Pick<Logger, 'warn' | 'info' | 'debug'>;
  readonly retryPausesMs?: readonly number[] | undefined;
}

const MAX_AGE_MS = 3_600_000;
/** Logins within this time after a failure fail with it. */
const REST_MS = 1_000;
const RETRY_PAUSES_MS: readonly number[] = [1_000, 5_000, 15_000];
/** Age of a failure after which a reader of the status starts another attempt. */
const PROBE_AFTER_MS = 2_000;

const REASONS: Readonly<Record<UpstreamFault, string>> = {
  denied: 'BadMetadata',
  mixed_up: 'BadMetadata',
  rejected: 'BadMetadata',
  misconfigured: 'ProviderMisconfigured',
  bad_reply: 'BadMetadata',
  unavailable: 'ProviderUnavailable',
};

/**
 * Metadata of an OpenID provider. When discovery fails at the start, it is retried in the background and by every login;
 * later failures keep the known metadata. Concurrent logins share one request.
 */
export class ProviderMetadata {
  readonly #options: ProviderMetadataOptions;
  #known: { readonly metadata: ServerMetadata; readonly at: number } | undefined;
  /** `since` is the time of the first failure in a row. */
  #failure: { readonly error: UpstreamError; readonly at: number; readonly since: number } | undefined;
  readonly #running = new SingleFlight();
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ProviderMetadataOptions) {
    this.#options = options;
  }

  /** Returns the metadata. Rejects with `UpstreamError`. */
  async current(): Promise<ServerMetadata> {
    const now = this.#options.now();
    if (this.#known) {
      if (now - this.#known.at >= MAX_AGE_MS && !this.#hasJustFailed(now)) void this.#refresh();
      return this.#known.metadata;
    }
    if (!this.#hasJustFailed(now)) await this.#refresh();
    return this.#knownOrThrow();
  }

  /** Discovers the provider in the background, and retries until it succeeds once. */
  warmUp(tries = 0): void {
    const { retryPausesMs = RETRY_PAUSES_MS } = this.#options;
    void this.#refresh().then(() => {
      if (this.#known !== undefined || this.#closed) return;
      const pause = retryPausesMs[Math.min(tries, retryPausesMs.length - 1)] ?? REST_MS;
      this.#retry = setTimeout(() => {
        this.warmUp(tries + 1);
      }, pause).unref();
    });
  }

  /** Returns the readiness. Probes the provider again in the background after a failure, so that the next reader learns of its return. */
  status(): UpstreamStatus {
    const failure = this.#failure;
    const ready = this.#known !== undefined;
    if (failure) {
      if (this.#options.now() - failure.at >= PROBE_AFTER_MS && !this.#closed) void this.#refresh();
      const { error, since } = failure;
      return { ready, reason: REASONS[error.fault], message: error.message, since };
    }
    return ready
      ? { ready }
      : { ready, reason: 'ProviderPending', message: 'the metadata of the provider are being fetched' };
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
  }

  #hasJustFailed(now: number): boolean {
    return this.#failure !== undefined && now - this.#failure.at < REST_MS;
  }

  #knownOrThrow(): ServerMetadata {
    if (this.#known) return this.#known.metadata;
    throw (
      this.#failure?.error ?? new UpstreamError('unavailable', 'the metadata of the provider have not been fetched yet')
    );
  }

  /** Discovers the provider, at most once at a time. Never rejects: stores the result in the fields. */
  #refresh(): Promise<void> {
    return this.#running.run(() => this.#load());
  }

  async #load(): Promise<void> {
    const { log, now, issuer } = this.#options;
    try {
      this.#known = { metadata: await discover(this.#options), at: now() };
      if (this.#failure) log.info('the identity provider is reachable again', { issuer });
      this.#failure = undefined;
    } catch (thrown) {
      if (this.#closed) return; // `close` has aborted it
      const error = toUpstreamError(thrown, { what: 'discovery', status: undefined });
      const level = this.#failure?.error.message === error.message ? 'debug' : 'warn';
      log[level]('the identity provider cannot be discovered', {
        issuer,
        reason: REASONS[error.fault],
        cause: error.message,
      });
      const at = now();
      this.#failure = { error, at, since: this.#failure?.since ?? at };
    }
  }
}

async function discover(options: ProviderMetadataOptions): Promise<ServerMetadata> {
  const openid = await import('openid-client');
  const { issuer, clientId, outbound, timeoutMs } = options;
  const transport = new ProviderTransport({ outbound, timeoutMs, rules: { openid: true } });
  try {
    const config = await openid.discovery(new URL(issuer), clientId, undefined, openid.None(), {
      [openid.customFetch]: transport.fetch,
      // oxlint-disable-next-line typescript/no-deprecated -- the outbound guard judges http
      execute: [openid.allowInsecureRequests],
    });
    const metadata = { ...config.serverMetadata() };
    const fault = faultIn(metadata, options);
    if (fault !== undefined) throw new UpstreamError('bad_reply', `the metadata of ${issuer} ${fault}`);
    return metadata;
  } catch (error) {
    throw toUpstreamError(error, { what: `discovery of ${issuer}`, status: transport.status });
  }
}

/** Returns the fault of the metadata. The issuer must be identical, or the endpoints may belong to another party. @see RFC 8414 §3.3 */
function faultIn(metadata: ServerMetadata, options: ProviderMetadataOptions): string | undefined {
  const { issuer, insecureAllowHTTP = false } = options;
  if (metadata.issuer !== issuer) {
    return 'spell the issuer differently: set issuer_url to exactly that text';
  }
  return (
    authorizationFaultIn(metadata, insecureAllowHTTP) ??
    endpointFaultIn(metadata, ['token_endpoint', 'jwks_uri'], policyFor(issuer, options)) ??
    shapeFaultIn(metadata)
  );
}
