import { randomInt } from 'node:crypto';
import { Pool, type Dispatcher } from 'undici';
import { ACCEPT_ENCODING } from '../../../bytes/content-coding.ts';
import { guardedConnector } from '../../../outbound/connector.ts';
import { policyFor, type OutboundPolicy } from '../../../outbound/policy.ts';
import { inAbsoluteForm } from '../../../outbound/proxy/absolute-form.ts';
import {
  type BackendRequest,
  type BackendSession,
  type Channel,
  type ChannelOwner,
  type ReplySink,
  type RequestHandle,
  type ServerFacts,
  type Transport,
  BackendError,
} from '../channel.ts';
import { MAX_UNSENT_MESSAGES, STREAM_LIMITS } from '../../budgets/limits.ts';
import { StreamPlaces } from '../../budgets/stream-places.ts';
import { SIGN, type CredentialHeaders, type UnsignedRequest } from '../../../outgoing/authenticator.ts';
import { unlessAborted } from '../abort.ts';
import type { BodyPieces } from './body-pieces.ts';
import { withHeaderFiles, type HeaderFiles } from '../header-files.ts';
import { initialize, INITIALIZED, readServerFacts, type ClientInfo } from '../handshake.ts';
import type { ExchangeHost, Outgoing } from './exchange-host.ts';
import { HttpExchange } from './exchange.ts';
import {
  ACCEPT_POST,
  besideOwn,
  getHeaders,
  singleValue,
  withCredential,
  withSignature,
  RequestBodies,
} from './request.ts';
import { requestFollowing } from './redirect.ts';
import { StreamListener } from './stream-listener.ts';
import { requestReply } from '../request-reply.ts';
import type { Logger } from '../../../contract/logger.ts';
import { afterTimeout, within } from '../../../kit/time.ts';

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
/** Digits before the number of a request in a session that replicas share. With eight more digits it fits a double. */
const replicaDigits = (): string => String(randomInt(1_000_000, 10_000_000));

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

/** A transport and its connection pools. */
export interface HttpTransport extends Transport, Pick<Pools, 'calls' | 'streams'> {}

/**
 * Creates a transport for streamable HTTP (2025-03-26 and later): one keep-alive pool per backend, one MCP session per
 * channel.
 */
export function httpTransport(options: HttpTransportOptions): HttpTransport {
  const { url, headerFiles, caFile, log, policy = policyFor(url, {}), initTimeoutMs: timeoutMs } = options;
  const common = {
    keepAliveTimeout: KEEP_ALIVE_MS,
    allowH2: false,
    connect: guardedConnector(policy, { caFile, configuredUrl: url, log, timeoutMs }),
  };
  const poolOf = (connections: number): Dispatcher =>
    withHeaderFiles(inAbsoluteForm(new Pool(url.origin, { ...common, connections }), url), headerFiles);
  const [calls, streams] = [poolOf(CONNECTIONS), poolOf(STREAM_CONNECTIONS)];
  const pools: Pools = { calls, streams, places: new StreamPlaces(STREAM_LIMITS), unsent: { count: 0 } };
  const open = (owner: ChannelOwner, signal: AbortSignal): Promise<Channel> =>
    new HttpChannel(options, pools, owner).open(signal);
  return {
    calls,
    streams,
    open,
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
  path: string;
  readonly maxReplyBytes: number;
  readonly #options: HttpTransportOptions;
  readonly #streams: Dispatcher;
  readonly #places: StreamPlaces;
  readonly #unsent: { count: number };
  readonly #owner: ChannelOwner;
  readonly #headers: string[];
  #sessionId: string | undefined;
  /** Digits that distinguish the ids of this replica. */
  readonly #idPrefix: string;
  #lastId = 0;
  #listener: StreamListener | undefined;
  /** Notifications and responses that the backend has not answered yet. */
  readonly #sending = new Set<Promise<void>>();
  readonly #bodies = new RequestBodies();

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
    this.#idPrefix = owner.isShared ? replicaDigits() : '';
    this.#headers = [
      ...Object.entries(options.headers).flat(),
      'content-type',
      'application/json',
      'accept',
      ACCEPT_POST,
      'accept-encoding',
      ACCEPT_ENCODING,
    ];
  }

  async open(signal: AbortSignal): Promise<Channel> {
    const { resume } = this.#owner;
    if (resume) return this.#resumed(resume);
    const credential = await unlessAborted(this.#owner.authorize?.(), signal);
    const reply = await initialize(this.#owner, this.#options.clientInfo, (params) => {
      this.#sessionId = undefined;
      return requestReply(
        (request, sink) => this.request(request, sink),
        { method: 'initialize', params, id: Buffer.from('0'), timeoutMs: this.#options.initTimeoutMs, credential },
        { signal },
      );
    });
    this.facts = readServerFacts(reply, this.#sessionId !== undefined);
    this.#addSessionHeaders();
    const status = await this.#post(INITIALIZED);
    if (status >= 400) this.#options.log.debug('backend refuses notifications/initialized', { status });
    return this;
  }

  /** Continues a session that another replica has opened. */
  #resumed({ id, revision, capabilities }: BackendSession): Channel {
    this.#sessionId = id;
    this.facts = { ...UNKNOWN, revision, capabilities, hasSession: true };
    this.#addSessionHeaders();
    return this;
  }

  #addSessionHeaders(): void {
    if (this.#sessionId !== undefined) this.#headers.push('mcp-session-id', this.#sessionId);
    this.#headers.push('mcp-protocol-version', this.facts.revision);
  }

  get session(): BackendSession | undefined {
    const { revision, capabilities } = this.facts;
    const id = this.#sessionId;
    return id === undefined ? undefined : { id, url: this.#options.url.href, revision, capabilities };
  }

  request(request: BackendRequest, sink: ReplySink): RequestHandle {
    this.#lastId += 1;
    const ownId = this.#idPrefix + String(this.#lastId);
    const extra = request.headers;
    const plain = extra ? [...besideOwn(extra, this.#options.headers), ...this.#headers] : this.#headers;
    const headers = withCredential(plain, request.credential);
    const body = this.#bodies.of(ownId, request);
    const sized = Buffer.isBuffer(body) ? headers : [...headers, 'content-length', String(body.length)];
    const sign = this.#signer(request, sized, body);
    return new HttpExchange(request, sink, this, { headers: sized, body, ownId, sign });
  }

  /** Returns a function that signs one POST; undefined for credentials that do not sign. */
  #signer({ credential }: BackendRequest, headers: string[], body: Buffer | BodyPieces): Outgoing['sign'] {
    if (credential?.[SIGN] === undefined) return undefined;
    return () => this.#signed('POST', headers, credential, Buffer.isBuffer(body) ? [body] : body.pieces);
  }

  #signed(
    method: UnsignedRequest['method'],
    headers: string[],
    credential: CredentialHeaders | undefined,
    body: readonly Buffer[] = [],
  ): Promise<string[]> {
    return withSignature({ method, origin: this.origin, path: this.path, headers, body }, credential);
  }

  replyHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): void {
    if (this.facts === UNKNOWN) this.#sessionId = singleValue(headers['mcp-session-id']) ?? this.#sessionId;
  }

  cancelled(ownId: string): void {
    if (this.facts === UNKNOWN) return;
    this.send(Buffer.from(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${ownId}}}`));
  }

  async resumeHeaders(lastEventId: string): Promise<string[]> {
    return [...(await this.#ownHeaders('GET')), 'last-event-id', lastEventId];
  }

  /** Returns the headers of a message that the channel sends itself. */
  async #ownHeaders(method: UnsignedRequest['method'], body?: readonly Buffer[]): Promise<string[]> {
    const credential = await this.#owner.authorize?.();
    const headers = withCredential(this.#headers, credential);
    return this.#signed(method, method === 'GET' ? getHeaders(headers) : headers, credential, body);
  }

  get hasSession(): boolean {
    return this.#sessionId !== undefined && this.facts !== UNKNOWN;
  }

  sessionLost(): void {
    this.alive = false;
    this.#listener?.close();
  }

  readonly moved = (path: string): void => {
    this.path = path;
  };

  send(message: Buffer): void {
    if (this.#unsent.count >= MAX_UNSENT_MESSAGES) {
      this.#options.log.debug('message to backend lost', { error: 'too many messages are pending' });
      return;
    }
    this.#unsent.count += 1;
    const sent = this.#post(message)
      .then((status) => {
        if ((status === 404 || status === 410) && this.hasSession) this.sessionLost();
        if (status >= 400) throw new Error(`HTTP ${String(status)}`);
      })
      .catch((error: unknown) => {
        this.#options.log.debug('message to backend lost', { error: String(error) });
      })
      .finally(() => {
        this.#unsent.count -= 1;
        this.#sending.delete(sent);
      });
    this.#sending.add(sent);
  }

  get hears(): boolean {
    return this.#listener?.isOpen === true;
  }

  unlisten(): void {
    this.#listener?.close();
    this.#listener = undefined;
  }

  release(): void {
    this.alive = false;
    this.#listener?.close();
  }

  async close(): Promise<void> {
    this.release();
    if (this.#sessionId === undefined) return;
    // on another connection the DELETE would overtake earlier messages
    if (this.#sending.size > 0)
      await within(CLOSE_TIMEOUT_MS, Promise.all(this.#sending), undefined, { after: afterTimeout });
    try {
      const { body } = await requestFollowing(this.dispatcher, this, {
        method: 'DELETE',
        headers: await this.#ownHeaders('DELETE'),
        headersTimeout: CLOSE_TIMEOUT_MS,
        bodyTimeout: CLOSE_TIMEOUT_MS,
      });
      await body.dump();
    } catch {
      // the backend expires an abandoned session
    }
  }

  /** Sends a notification or a response. Returns the status. */
  async #post(message: Buffer): Promise<number> {
    const headers = this.#owner.authorize ? await this.#ownHeaders('POST', [message]) : this.#headers;
    const { initTimeoutMs: headersTimeout } = this.#options;
    const request = { method: 'POST', headers, body: message, headersTimeout, bodyTimeout: headersTimeout } as const;
    const { statusCode, body } = await requestFollowing(this.dispatcher, this, request, this.moved).catch(
      (error: unknown) => {
        throw new BackendError({ kind: 'unavailable', detail: String(error) });
      },
    );
    await body.dump();
    return statusCode;
  }

  listen(): void {
    if (!this.alive) return;
    this.#listener ??= new StreamListener({
      dispatcher: this.#streams,
      place: { origin: this.origin, path: this.path },
      headers: () => this.#ownHeaders('GET'),
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
