import { setTimeout as sleep } from 'node:timers/promises';
import { Pool, type Dispatcher } from 'undici';
import { guardedConnector } from '../../../outbound/connector.ts';
import { policyFor, type OutboundPolicy } from '../../../outbound/policy.ts';
import type {
  BackendRequest,
  Channel,
  ChannelOwner,
  ReplySink,
  RequestHandle,
  ServerFacts,
  Transport,
} from '../channel.ts';
import { MAX_UNSENT_MESSAGES, STREAM_LIMITS } from '../../budgets/limits.ts';
import { StreamPlaces } from '../../budgets/stream-places.ts';
import { unlessAborted } from '../abort.ts';
import { BackendError } from '../channel.ts';
import { BodyPieces, LARGE_BODY_BYTES } from './body-pieces.ts';
import { withHeaderFiles, type HeaderFiles } from '../header-files.ts';
import { INITIALIZED, initializeParams, readServerFacts, type ClientInfo } from '../handshake.ts';
import type { ExchangeHost } from './exchange-host.ts';
import { HttpExchange } from './exchange.ts';
import { ACCEPT_POST, getHeaders, withCredential } from './headers.ts';
import { StreamListener } from './stream-listener.ts';
import { requestReply } from '../request-reply.ts';
import type { Logger } from '../../../contract/logger.ts';

export interface HttpTransportOptions {
  /** MCP endpoint of the backend. */
  readonly url: URL;
  readonly clientInfo: ClientInfo;
  /** Headers of every request, by lower-case name; empty where `headerFiles` has the value. */
  readonly headers: Readonly<Record<string, string>>;
  readonly headerFiles?: HeaderFiles | undefined;
  /** Addresses that may be dialled; when absent, those that the URL itself names. */
  readonly policy?: OutboundPolicy | undefined;
  /** PEM bundle trusted beside the system's; read again when it changes. */
  readonly caFile?: string | undefined;
  readonly maxReplyBytes: number;
  /** Longest wait for the handshake, ms. */
  readonly initTimeoutMs: number;
  readonly log: Logger;
}

const CONNECTIONS = 128;
/** One for each stream and one for the gateway's own stream. */
const STREAM_CONNECTIONS = STREAM_LIMITS.total + 1;
/** Shorter than the 5 s of Node and Python servers: a request on a connection that the server is closing is lost. */
const KEEP_ALIVE_MS = 4_000;
const CLOSE_TIMEOUT_MS = 2_000;

/**
 * Connection pools of one backend. Unsolicited streams have their own pool, so that they cannot use up the connections
 * of calls.
 */
interface Pools {
  readonly calls: Dispatcher;
  readonly streams: Dispatcher;
  readonly places: StreamPlaces;
  /** Messages of all channels that the backend has not answered yet. */
  readonly unsent: { count: number };
}

/**
 * Creates a transport for streamable HTTP (2025-03-26 and later): one keep-alive pool per backend, one MCP session per
 * channel.
 */
export function httpTransport(options: HttpTransportOptions): Transport {
  const { url, headerFiles, caFile, log, policy = policyFor(url, {}), initTimeoutMs: timeoutMs } = options;
  const common = {
    keepAliveTimeout: KEEP_ALIVE_MS,
    allowH2: false,
    connect: guardedConnector(policy, { caFile, log, timeoutMs }),
  };
  const calls = withHeaderFiles(new Pool(url.origin, { ...common, connections: CONNECTIONS }), headerFiles);
  const streams = withHeaderFiles(new Pool(url.origin, { ...common, connections: STREAM_CONNECTIONS }), headerFiles);
  const pools: Pools = { calls, streams, places: new StreamPlaces(STREAM_LIMITS), unsent: { count: 0 } };
  return {
    open: (owner, signal) => new HttpChannel(options, pools, owner).open(signal),
    close: async () => {
      await Promise.all([calls.destroy(), streams.destroy()]);
    },
  };
}

/** Placeholder until the handshake has finished. */
const UNKNOWN: ServerFacts = {
  revision: '',
  capabilities: {},
  serverInfo: {},
  instructions: undefined,
  hasSession: false,
};

class HttpChannel implements Channel, ExchangeHost {
  facts: ServerFacts = UNKNOWN;
  alive = true;
  readonly dispatcher: Dispatcher;
  readonly origin: string;
  readonly path: string;
  readonly maxReplyBytes: number;
  readonly #options: HttpTransportOptions;
  readonly #streams: Dispatcher;
  readonly #places: StreamPlaces;
  readonly #unsent: { count: number };
  readonly #owner: ChannelOwner;
  readonly #headers: string[];
  #sessionId: string | undefined;
  #lastId = 0;
  #listener: StreamListener | undefined;
  /** Notifications and responses that the backend has not answered yet. */
  readonly #sending = new Set<Promise<void>>();
  #method = '';
  #methodPrefix = '';

  constructor(options: HttpTransportOptions, { calls, streams, places, unsent }: Pools, owner: ChannelOwner) {
    this.#options = options;
    this.dispatcher = calls;
    this.#streams = streams;
    this.#places = places;
    this.#unsent = unsent;
    this.origin = options.url.origin;
    this.path = options.url.pathname + options.url.search;
    this.maxReplyBytes = options.maxReplyBytes;
    this.#owner = owner;
    this.#headers = [
      ...Object.entries(options.headers).flat(),
      'content-type',
      'application/json',
      'accept',
      ACCEPT_POST,
    ];
  }

  async open(signal: AbortSignal): Promise<Channel> {
    const params = initializeParams(this.#owner, this.#options.clientInfo);
    const credential = await unlessAborted(this.#owner.authorize?.(), signal);
    const reply = await requestReply(
      (request, sink) => this.request(request, sink),
      { method: 'initialize', params, id: Buffer.from('0'), timeoutMs: this.#options.initTimeoutMs, credential },
      { signal },
    );
    this.facts = readServerFacts(reply, this.#sessionId !== undefined);
    if (this.#sessionId !== undefined) this.#headers.push('mcp-session-id', this.#sessionId);
    this.#headers.push('mcp-protocol-version', this.facts.revision);
    await this.#post(INITIALIZED);
    return this;
  }

  request(request: BackendRequest, sink: ReplySink): RequestHandle {
    this.#lastId += 1;
    const ownId = String(this.#lastId);
    const extra = request.headers;
    const plain = extra ? [...this.#besideOwn(extra), ...this.#headers] : this.#headers;
    const headers = withCredential(plain, request.credential);
    const { params } = request;
    const isLarge = params !== undefined && params.length > LARGE_BODY_BYTES;
    if (!isLarge) return new HttpExchange(request, sink, this, { headers, body: this.#body(ownId, request), ownId });
    const body = this.#pieces(ownId, request.method, params);
    const sized = [...headers, 'content-length', String(body.length)];
    return new HttpExchange(request, sink, this, { headers: sized, body, ownId });
  }

  /** Returns the client's headers without those that the gateway sets itself. */
  #besideOwn(extra: Readonly<Record<string, string>>): string[] {
    const own = this.#options.headers;
    return Object.entries(extra).flatMap((header) => (Object.hasOwn(own, header[0]) ? [] : header));
  }

  replyHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): void {
    const id = headers['mcp-session-id'];
    if (this.facts === UNKNOWN && typeof id === 'string') this.#sessionId = id;
  }

  cancelled(ownId: string): void {
    if (this.facts === UNKNOWN) return;
    this.send(Buffer.from(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${ownId}}}`));
  }

  async resumeHeaders(lastEventId: string): Promise<string[]> {
    return [...getHeaders(await this.#ownHeaders()), 'last-event-id', lastEventId];
  }

  /** Returns the headers of messages that the channel sends itself. */
  async #ownHeaders(): Promise<string[]> {
    return withCredential(this.#headers, await this.#owner.authorize?.());
  }

  get hasSession(): boolean {
    return this.#sessionId !== undefined && this.facts !== UNKNOWN;
  }

  sessionLost(): void {
    this.alive = false;
    this.#listener?.close();
  }

  send(message: Buffer): void {
    if (this.#unsent.count >= MAX_UNSENT_MESSAGES) {
      this.#options.log.debug('message to backend lost', { error: 'too many messages are pending' });
      return;
    }
    this.#unsent.count += 1;
    const sent = this.#post(message)
      .catch((error: unknown) => {
        this.#options.log.debug('message to backend lost', { error: String(error) });
      })
      .finally(() => {
        this.#unsent.count -= 1;
        this.#sending.delete(sent);
      });
    this.#sending.add(sent);
  }

  async close(): Promise<void> {
    this.alive = false;
    this.#listener?.close();
    if (this.#sessionId === undefined) return;
    // on another connection the DELETE would overtake earlier messages
    if (this.#sending.size > 0)
      await Promise.race([Promise.all(this.#sending), sleep(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
    try {
      const { body } = await this.dispatcher.request({
        path: this.path,
        method: 'DELETE',
        headers: await this.#ownHeaders(),
        headersTimeout: CLOSE_TIMEOUT_MS,
        bodyTimeout: CLOSE_TIMEOUT_MS,
      });
      await body.dump();
    } catch {
      // the backend expires an abandoned session
    }
  }

  #head(ownId: string, method: string): string {
    if (method !== this.#method) {
      this.#method = method;
      this.#methodPrefix = `,"method":${JSON.stringify(method)}`;
    }
    return `{"jsonrpc":"2.0","id":${ownId}${this.#methodPrefix}`;
  }

  #pieces(ownId: string, method: string, params: Buffer): BodyPieces {
    return new BodyPieces([Buffer.from(`${this.#head(ownId, method)},"params":`), params, Buffer.from('}')]);
  }

  #body(ownId: string, { method, params }: BackendRequest): Buffer {
    const head = this.#head(ownId, method);
    if (params === undefined) return Buffer.from(`${head}}`);
    const body = Buffer.allocUnsafe(head.length + 10 + params.length + 1);
    let at = body.write(head, 'latin1');
    at += body.write(',"params":', at, 'latin1');
    at += params.copy(body, at);
    body[at] = 0x7d;
    return body;
  }

  async #post(message: Buffer): Promise<void> {
    const headers = this.#owner.authorize ? await this.#ownHeaders() : this.#headers;
    const { statusCode, body } = await this.dispatcher
      .request({
        path: this.path,
        method: 'POST',
        headers,
        body: message,
        headersTimeout: this.#options.initTimeoutMs,
        bodyTimeout: this.#options.initTimeoutMs,
      })
      .catch((error: unknown) => {
        throw new BackendError({ kind: 'unavailable', detail: String(error) });
      });
    await body.dump();
    if (statusCode === 404 && this.hasSession) this.sessionLost();
    if (statusCode >= 400)
      throw new BackendError({ kind: 'garbage', detail: `HTTP ${String(statusCode)} for a notification` });
  }

  listen(): void {
    if (!this.alive) return;
    this.#listener ??= new StreamListener({
      dispatcher: this.#streams,
      path: this.path,
      headers: () => this.#ownHeaders(),
      maxEventBytes: this.#options.maxReplyBytes,
      onMessage: this.#owner.onMessage,
      onSessionLost: () => {
        if (this.hasSession) this.sessionLost();
      },
      places: this.#places,
      account: this.#owner.account,
      log: this.#options.log,
    });
  }
}
