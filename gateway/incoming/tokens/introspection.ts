import { hash } from 'node:crypto';
import type { ClientAssertion } from '../../private-keys/client-assertion.ts';
import type { Identity } from '../../contract/identity.ts';
import type { Outbound, OutboundReply } from '../../outbound/fetch.ts';
import { OutboundError } from '../../outbound/outbound-error.ts';
import { MAX_CACHED, readIdentity, type ClaimRules } from './claims.ts';
import type { IssuerDiscovery, IssuerMetadata } from '../keys/discovery.ts';
import { FetchFailure, RETRY_PAUSES_MS, withRetries } from '../keys/json-get.ts';
import { ExpiringMap } from '../../kit/cache.ts';
import { Flights } from '../../kit/tasks.ts';
import { DependencyDown, TokenRefused } from '../refusal.ts';
import type { Liveness } from '../token-validator.ts';
import type { Logger } from '../../contract/logger.ts';
import { isObject, type JsonObject } from '../../contract/json.ts';
import { basicAuthorization } from '../../contract/text/provider-text.ts';

export interface IntrospectionOptions {
  /** Introspection endpoint; undefined means that of the issuer's metadata. */
  readonly endpoint: string | undefined;
  readonly discovery: IssuerDiscovery;
  readonly clientId: string;
  readonly clientSecretFile: string | undefined;
  /** Authentication with a private key in place of the secret. */
  readonly assertion: ClientAssertion | undefined;
  readonly outbound: Outbound;
  readonly readSecret: (file: string) => string;
  readonly rules: ClaimRules;
  /** Time for which positive replies are cached, ms. */
  readonly cacheMs: number;
  readonly now: () => number;
  readonly log: Logger;
  readonly retryPausesMs?: readonly number[] | undefined;
}

interface Endpoint {
  readonly url: string;
  readonly postsSecret: boolean;
  /** Algorithms of assertions that the endpoint supports, if known. */
  readonly algorithms?: readonly string[] | undefined;
}

/** Client authentication of a request. */
interface Credential {
  readonly form: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

const REFUSED_MS = 10_000;
/** Age at which a reply is refreshed before a stream continues. */
const BELIEVED_MS = 5_000;
const FAULT_LOG_MS = 60_000;
const MAX_REPLY_BYTES = 64 * 1024;
const TIMEOUT_MS = 10_000;
/** Most concurrent introspection requests. */
const MAX_FLIGHTS = 1_000;
/** Most concurrent requests while the endpoint times out: they probe it, other tokens get 503 at once. */
const MAX_FLIGHTS_WHILE_HANGING = 8;

/**
 * Introspects opaque tokens. Caches positive replies for min(exp, `cacheMs`) and negative ones for 10 s; concurrent requests
 * with one token share one introspection. @see RFC 7662
 */
export class Introspection {
  readonly #options: IntrospectionOptions;
  readonly #accepted: ExpiringMap<Identity>;
  readonly #refused: ExpiringMap<TokenRefused>; // separate, so that invalid tokens evict no valid token
  readonly #flights = new Flights<string, Identity>();
  /** Time of the reply behind an identity, ms since the epoch. */
  readonly #answeredAt = new WeakMap<Identity, number>();
  #faultLoggedAt = -Infinity;
  #isHanging = false;

  constructor(options: IntrospectionOptions) {
    this.#options = options;
    this.#accepted = new ExpiringMap(options.now, undefined, MAX_CACHED);
    this.#refused = new ExpiringMap(options.now, undefined, MAX_CACHED);
  }

  /** Throws or rejects with `TokenRefused` or `DependencyDown`. */
  inspect(token: string): Identity | Promise<Identity> {
    const digest = hash('sha256', token, 'base64');
    const now = this.#options.now();
    const accepted = this.#accepted.get(digest, now);
    if (accepted !== undefined) return accepted;
    const refusal = this.#refused.get(digest, now);
    if (refusal !== undefined) throw refusal;
    return this.#fly(token, digest);
  }

  /** Checks an accepted identity with a reply of the last 5 s or a new one. Returns undefined for identities of other validators. */
  liveness(identity: Identity): Liveness | undefined {
    if (!this.#answeredAt.has(identity)) return undefined;
    const { now, rules } = this.#options;
    if (identity.expiresAt + rules.clockSkewMs <= now()) return false;
    const token = identity.token.reveal();
    const digest = hash('sha256', token, 'base64');
    const latest = this.#accepted.get(digest, now());
    if (latest && now() - (this.#answeredAt.get(latest) ?? 0) < BELIEVED_MS) return true;
    return () => this.#fly(token, digest).then(() => true, refusedOrDown);
  }

  #fly(token: string, digest: string): Promise<Identity> {
    const isFull = this.#flights.size >= (this.#isHanging ? MAX_FLIGHTS_WHILE_HANGING : MAX_FLIGHTS);
    if (isFull && !this.#flights.get(digest))
      return Promise.reject(down('too many tokens wait for the introspection endpoint'));
    return this.#flights.run(digest, () => this.#ask(token, digest));
  }

  async #ask(token: string, digest: string): Promise<Identity> {
    const reply = await this.#reply(token);
    const { rules, cacheMs } = this.#options;
    const now = this.#options.now();
    try {
      const identity = readIdentity(acceptedClaims(reply, rules.issuer), token, rules, now);
      this.#answeredAt.set(identity, now);
      this.#accepted.set(digest, identity, Math.min(identity.expiresAt - now, cacheMs), now);
      return identity;
    } catch (error) {
      if (error instanceof TokenRefused) {
        this.#accepted.delete(digest);
        this.#refused.set(digest, error, REFUSED_MS, now);
      }
      throw error;
    }
  }

  async #reply(token: string): Promise<JsonObject> {
    const { status, body } = await this.#post(token, await this.#endpoint());
    if (status === 401)
      throw this.#fault('the introspection endpoint refuses our client: check its id and secret or private key');
    if (status !== 200) throw down(`the introspection endpoint answered ${String(status)}`);
    const document = objectOf(body);
    if (document === undefined) throw down('the introspection endpoint answered something that is not a JSON object');
    return document;
  }

  async #endpoint(): Promise<Endpoint> {
    const { endpoint } = this.#options;
    if (endpoint !== undefined) return { url: endpoint, postsSecret: false };
    const metadata = await this.#metadata();
    const { introspectionEndpoint: url, introspectionAuthMethods: methods } = metadata;
    if (url === undefined) throw this.#fault('the issuer names no introspection endpoint: set introspectionUrl');
    const postsSecret = methods?.includes('client_secret_basic') === false && methods.includes('client_secret_post');
    return { url, postsSecret, algorithms: metadata.introspectionAuthAlgorithms };
  }

  async #metadata(): Promise<IssuerMetadata> {
    const { discovery, retryPausesMs = RETRY_PAUSES_MS } = this.#options;
    try {
      return await withRetries(() => discovery.metadata(), retryPausesMs);
    } catch (error) {
      if (error instanceof FetchFailure) throw new DependencyDown('discovery', error.message);
      throw error;
    }
  }

  /** Retries once when the connection was closing: introspection is idempotent. */
  async #post(token: string, endpoint: Endpoint): Promise<OutboundReply> {
    try {
      return await this.#send(token, endpoint);
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      if (error.kind !== 'unreachable') throw down(error.message);
    }
    try {
      return await this.#send(token, endpoint);
    } catch (error) {
      throw error instanceof OutboundError ? down(error.message) : error;
    }
  }

  async #send(token: string, endpoint: Endpoint): Promise<OutboundReply> {
    const { form, headers } = await this.#credential(endpoint);
    return this.#watched({
      url: endpoint.url,
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        ...headers,
      },
      body: new URLSearchParams({ token, token_type_hint: 'access_token', ...form }).toString(),
      maxBytes: MAX_REPLY_BYTES,
      timeoutMs: TIMEOUT_MS,
    });
  }

  /** Returns the client authentication of the next request. */
  async #credential({ postsSecret, algorithms: supported }: Endpoint): Promise<Credential> {
    const { clientId, assertion, rules } = this.#options;
    if (assertion) {
      const request = { clientId, audience: rules.issuer, supported };
      const signed = assertion.parameters(request).catch((error: unknown) => {
        throw this.#fault(error instanceof Error ? error.message : 'the private key cannot be read');
      });
      return { form: { ...(await signed) }, headers: {} };
    }
    const secret = this.#secret();
    if (postsSecret) return { form: { client_id: clientId, client_secret: secret }, headers: {} };
    return { form: {}, headers: { authorization: basicAuthorization(clientId, secret) } };
  }

  async #watched(request: Parameters<Outbound['request']>[0]): Promise<OutboundReply> {
    try {
      const reply = await this.#options.outbound.request(request);
      this.#isHanging = false;
      return reply;
    } catch (error) {
      this.#isHanging = error instanceof OutboundError && error.kind === 'timeout';
      throw error;
    }
  }

  #secret(): string {
    const { readSecret, clientSecretFile = '' } = this.#options;
    try {
      return readSecret(clientSecretFile);
    } catch (error) {
      throw this.#fault(error instanceof Error ? error.message : `${clientSecretFile} cannot be read`);
    }
  }

  /** Logs a configuration error at most once a minute. */
  #fault(message: string): DependencyDown {
    const now = this.#options.now();
    if (now - this.#faultLoggedAt >= FAULT_LOG_MS) {
      this.#faultLoggedAt = now;
      this.#options.log.error('opaque tokens cannot be checked', { cause: message });
    }
    return down(message);
  }
}

const refusedOrDown = (error: unknown): boolean => {
  if (error instanceof TokenRefused) return false;
  throw error;
};

const down = (message: string): DependencyDown => new DependencyDown('introspection', message);

/** Returns the claims of an active token. A reply without `iss` is about the configured issuer. */
function acceptedClaims(reply: JsonObject, issuer: string): JsonObject {
  if (reply['active'] !== true) throw new TokenRefused('inactive');
  return reply['iss'] === undefined ? { ...reply, iss: issuer } : reply;
}

function objectOf(body: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
