import type { LookupFunction } from 'node:net';
import { Agent, type Dispatcher } from 'undici';
import { ACCEPT_ENCODING } from '../bytes/content-coding.ts';
import { guardedConnector } from './connector.ts';
import { OutboundError, refusedBy } from './outbound-error.ts';
import { checkOutboundUrl, type OutboundPolicy } from './policy.ts';
import { inAbsoluteForm } from './proxy/absolute-form.ts';
import { Reception, type RawReply, unpack } from './reception.ts';
import type { Logger } from '../contract/logger.ts';
import { decodeUtf8 } from '../contract/text/utf8.ts';

export interface OutboundOptions {
  readonly policy: OutboundPolicy;
  /** PEM bundle trusted beside the system's roots; followed when it changes. */
  readonly caFile?: string | undefined;
  /** PEM certificate and key that the client presents; followed when they change. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /** Accepts every certificate. Development only. */
  readonly insecureSkipVerify?: boolean | undefined;
  readonly log?: Pick<Logger, 'warn'> | undefined;
  /** URL that the configuration names: it may be an MCP endpoint of this process. */
  readonly configuredUrl?: string | URL | undefined;
  /** DNS lookup; that of the system when absent. */
  readonly lookup?: LookupFunction | undefined;
}

export interface OutboundRequest {
  readonly url: string | URL;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Buffer | undefined;
  /** Limit of the body, unpacked. */
  readonly maxBytes: number;
  /** Time limit of the whole request: connections, redirects, body. */
  readonly timeoutMs: number;
  /** Time limit until the head of the reply; 10 s when absent. */
  readonly headersTimeoutMs?: number | undefined;
  /**
   * Follows redirects, for GET only: at most three, to the same origin or from http to https of the same host. With
   * `anywhere` also to other origins that the policy allows; they do not get the `authorization` header.
   */
  readonly followRedirects?: boolean | 'anywhere' | undefined;
  /** Ends with the head of the reply, and leaves the body empty: a stream would not end. */
  readonly ignoreBody?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface ReplyHead {
  readonly status: number;
  /** By lower-case name; repeated ones joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** Media type in lower case, without parameters. */
  readonly contentType: string;
  /** Final URL after all redirects. */
  readonly url: string;
}

export interface OutboundReply extends ReplyHead {
  readonly body: string;
}

export interface OutboundBytes extends ReplyHead {
  readonly body: Buffer;
}

/** Sends requests to addresses that a user or a document names. */
export interface Outbound {
  /** Sends a request whose body is text. Rejects with `OutboundError`, or with the reason of `signal` once that is aborted. */
  request(request: OutboundRequest): Promise<OutboundReply>;
  /** Does the same as `request` for a body that is not text. */
  requestBytes(request: OutboundRequest): Promise<OutboundBytes>;
  /** Running requests fail. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;
const HEADERS_TIMEOUT_MS = 10_000;
/** Shorter than the 5 s of Node's and Python's servers: a POST on a connection that is just being closed is lost. */
const KEEP_ALIVE_MS = 4_000;
const CONNECTIONS_PER_ORIGIN = 32;
const MAX_REDIRECTS = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** One guard with its own keep-alive connections. @see docs/security.md, Outbound requests */
export function createOutbound({ policy, ...connection }: OutboundOptions): Outbound {
  const connect = guardedConnector(policy, { ...connection, timeoutMs: CONNECT_TIMEOUT_MS });
  const agent = inAbsoluteForm(
    new Agent({
      allowH2: false,
      connections: CONNECTIONS_PER_ORIGIN,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      connect,
    }),
  );
  const requestBytes = (request: OutboundRequest): Promise<OutboundBytes> => new Exchange(agent, policy, request).run();
  return {
    request: async (request) => {
      const reply = await requestBytes(request);
      return { ...reply, body: textOf(reply) };
    },
    requestBytes,
    close: () => agent.destroy(),
  };
}

class Exchange {
  readonly #agent: Dispatcher;
  readonly #policy: OutboundPolicy;
  readonly #request: OutboundRequest;
  #url: URL | undefined;
  #running: Reception | undefined;

  constructor(agent: Dispatcher, policy: OutboundPolicy, request: OutboundRequest) {
    this.#agent = agent;
    this.#policy = policy;
    this.#request = request;
  }

  async run(): Promise<OutboundBytes> {
    const { timeoutMs, signal } = this.#request;
    const deadline = setTimeout(() => this.#running?.abort(this.#late()), timeoutMs);
    const abort = (): void => this.#running?.abort(signal?.reason as Error);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      signal?.throwIfAborted();
      return await this.#follow();
    } catch (error) {
      throw this.#translate(error);
    } finally {
      clearTimeout(deadline);
      signal?.removeEventListener('abort', abort);
    }
  }

  async #follow(): Promise<OutboundBytes> {
    const { url, method, followRedirects, headers = {} } = this.#request;
    const { authorization: _, ...anonymous } = headers;
    const isFollowed = (status: number): boolean =>
      method === 'GET' && followRedirects !== undefined && followRedirects !== false && REDIRECTS.has(status);
    const first = this.#admit(url);
    let target = first;
    for (let redirects = 0; ; redirects += 1) {
      const reply = await this.#send(target, sameServer(first, target) ? headers : anonymous, isFollowed);
      if (!isFollowed(reply.status)) return this.#read(target, reply);
      if (redirects === MAX_REDIRECTS) throw this.#notFollowed('the fourth in a row');
      target = this.#admit(this.#location(target, reply.headers['location']));
    }
  }

  #admit(url: string | URL): URL {
    const refused = checkOutboundUrl(url, this.#policy);
    if (refused) throw refusedBy(refused);
    this.#url = new URL(url);
    return this.#url;
  }

  #send(url: URL, headers: Readonly<Record<string, string>>, isUnread: (status: number) => boolean): Promise<RawReply> {
    const { method, body = null, timeoutMs, maxBytes, ignoreBody = false } = this.#request;
    const { headersTimeoutMs = HEADERS_TIMEOUT_MS } = this.#request;
    const reception = new Reception({ maxBytes, isUnread: (status) => ignoreBody || isUnread(status) });
    this.#running = reception;
    this.#agent.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        headers: { 'accept-encoding': ACCEPT_ENCODING, ...headers },
        body,
        headersTimeout: Math.min(headersTimeoutMs, timeoutMs),
        bodyTimeout: timeoutMs,
      },
      reception,
    );
    return reception.reply;
  }

  async #read(url: URL, { status, headers: received, body }: RawReply): Promise<OutboundBytes> {
    const headers = Object.fromEntries(
      Object.entries(received).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
    );
    const { maxBytes, ignoreBody = false } = this.#request;
    const unpacked = ignoreBody ? body : await unpack(body, headers['content-encoding'] ?? '', maxBytes);
    const contentType = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
    return { status, headers, contentType, body: unpacked, url: url.href };
  }

  #location(from: URL, location: string | string[] | undefined): URL {
    const to = typeof location === 'string' ? URL.parse(location, from.href) : null;
    if (to === null) throw this.#notFollowed('it names no URL');
    const sameOrigin = to.origin === from.origin;
    const upgrade = from.protocol === 'http:' && to.protocol === 'https:' && to.hostname === from.hostname;
    const isAllowed = sameOrigin || upgrade || this.#request.followRedirects === 'anywhere';
    if (!isAllowed) throw this.#notFollowed('it leads to another origin');
    return to;
  }

  #notFollowed(why: string): OutboundError {
    return new OutboundError('redirect', `a redirect of ${this.#url?.origin ?? ''} is not followed: ${why}`);
  }

  #late(): OutboundError {
    const origin = this.#url?.origin ?? '';
    return new OutboundError('timeout', `${origin} gave no whole reply in ${String(this.#request.timeoutMs)} ms`);
  }

  #translate(error: unknown): unknown {
    if (this.#request.signal?.aborted === true) return this.#request.signal.reason;
    if (error instanceof OutboundError) return error;
    const origin = this.#url?.origin ?? '';
    const code = codeOf(error);
    if (TIMEOUT_CODES.has(code)) return new OutboundError('timeout', `${origin} does not answer in time (${code})`);
    if (code === 'UND_ERR_HEADERS_OVERFLOW') return new OutboundError('too_large', `headers of ${origin} are too long`);
    return new OutboundError('unreachable', `${origin} cannot be reached (${code})`);
  }
}

/** Returns the text of a body. That of an error is for people. @throws OutboundError for a success that is not UTF-8 */
function textOf({ body, status, url }: OutboundBytes): string {
  const text = decodeUtf8(body);
  if (text === undefined && status >= 200 && status < 300) {
    throw new OutboundError('not_text', `${new URL(url).origin} sends text that is not UTF-8`);
  }
  return (text ?? body.toString('utf8')).replace(/^\uFEFF/u, '');
}

const TIMEOUT_CODES: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]);

/** Returns the code only: messages of parsers and TLS may quote the reply. */
const codeOf = (error: unknown): string =>
  error instanceof Error ? ('code' in error && typeof error.code === 'string' ? error.code : error.name) : 'unknown';

/** Returns true for the same origin or its https variant. Another port is another server and must not get the credential. */
const sameServer = (from: URL, to: URL): boolean =>
  from.origin === to.origin || (from.hostname === to.hostname && from.port === '' && to.port === '');
