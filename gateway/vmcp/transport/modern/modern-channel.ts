import type { Dispatcher } from 'undici';
import type { Logger } from '../../../contract/logger.ts';
import { scanBackendEnvelope } from '../../../http/json-scan.ts';
import { SIGN, type CredentialHeaders } from '../../../outgoing/authenticator.ts';
import { isModern } from '../../era.ts';
import { resultMessage } from '../../message.ts';
import type { BackendRequest, Channel, ChannelOwner, ReplySink, RequestHandle, ServerFacts } from '../channel.ts';
import { DISCOVERY } from '../channel.ts';
import type { ClientInfo } from '../handshake.ts';
import type { ExchangeHost } from '../http/exchange-host.ts';
import { HttpExchange } from '../http/exchange.ts';
import { ACCEPT_POST, withCredential, withSignature } from '../http/headers.ts';
import { RequestBodies } from '../http/request-body.ts';
import { BridgedRequest } from './bridged-request.ts';
import { ListenStream } from './listen-stream.ts';
import { metaMembers, mirroredHeaders, withMeta } from './request-text.ts';

export interface ModernChannelOptions {
  readonly url: URL;
  readonly clientInfo: ClientInfo;
  readonly headers: Readonly<Record<string, string>>;
  readonly maxReplyBytes: number;
  readonly calls: Dispatcher;
  readonly streams: Dispatcher;
  readonly log: Logger;
  /** Called when the backend answers like one of an older revision. */
  readonly onOtherEra: () => void;
}

const NOTHING = '{}';

/** Channel to a backend of the revision without sessions over streamable HTTP. It keeps no connection. */
export class ModernChannel implements Channel, ExchangeHost {
  alive = true;
  readonly hasSession = false;
  readonly dispatcher: Dispatcher;
  readonly origin: string;
  readonly path: string;
  readonly maxReplyBytes: number;
  readonly facts: ServerFacts;
  readonly #options: ModernChannelOptions;
  readonly #owner: ChannelOwner;
  readonly #headers: string[];
  readonly #ownMembers: string;
  readonly #bodies = new RequestBodies();
  readonly #bridged = new Set<BridgedRequest>();
  #listen: ListenStream | undefined;
  #lastId = 0;

  constructor(options: ModernChannelOptions, owner: ChannelOwner, facts: ServerFacts) {
    this.#options = options;
    this.#owner = owner;
    this.facts = facts;
    this.dispatcher = options.calls;
    this.origin = options.url.origin;
    this.path = options.url.pathname + options.url.search;
    this.maxReplyBytes = options.maxReplyBytes;
    this.#ownMembers = metaMembers({ capabilities: NOTHING, client: options.clientInfo, logLevel: -1 });
    const own = Object.entries(options.headers).flat();
    this.#headers = [...own, 'content-type', 'application/json', 'accept', ACCEPT_POST];
  }

  request(request: BackendRequest, sink: ReplySink): RequestHandle {
    const local = this.#answerHere(request, sink);
    if (local) return local;
    const wanted = request.method === 'ping' ? { ...request, method: 'server/discover' } : request;
    if (isModern(request.client?.revision)) return this.#send(wanted, this.#watched(sink), this.dispatcher);
    const send = (each: BackendRequest, own: ReplySink): RequestHandle => this.#send(each, own, this.dispatcher);
    const bridged = new BridgedRequest(wanted, this.#watched(sink), send, this.#newQuestion, this.#ended);
    this.#bridged.add(bridged);
    return bridged;
  }

  /** Sends a request and passes its reply on as it is. */
  exchange(request: BackendRequest, sink: ReplySink): RequestHandle {
    return this.#send(request, sink, this.dispatcher);
  }

  /** Takes the response of a client to a question. The revision has no notifications of clients. */
  send(message: Buffer): void {
    const envelope = scanBackendEnvelope(message);
    if (envelope.method !== undefined) return;
    for (const request of this.#bridged) if (request.answered(message, envelope)) return;
  }

  listen(): void {
    const isShared = this.#owner.key === DISCOVERY || this.#owner.authorize !== undefined;
    this.#stream.wantLists(isShared);
  }

  close(): Promise<void> {
    this.alive = false;
    this.#listen?.close();
    return Promise.resolve();
  }

  /** Closing the stream of the reply cancels the request. */
  cancelled(): void {
    // see above
  }

  sessionLost(): void {
    // there is no session
  }

  resumeHeaders(): Promise<string[]> {
    return Promise.reject(new Error('streams of this revision cannot be resumed'));
  }

  get #stream(): ListenStream {
    return (this.#listen ??= new ListenStream({
      send: (params, sink) => this.#sendOwn(params, sink),
      capabilities: this.facts.capabilities,
      onMessage: this.#owner.onMessage,
      log: this.#options.log,
    }));
  }

  /** Serves methods that the revision does not have. */
  #answerHere({ method, params, id }: BackendRequest, sink: ReplySink): RequestHandle | undefined {
    const answer = (): RequestHandle => {
      sink.reply(resultMessage(id, NOTHING));
      return DONE;
    };
    if (method === 'logging/setLevel') return answer(); // each request names its level
    if (method !== 'resources/subscribe' && method !== 'resources/unsubscribe') return undefined;
    const { uri } = JSON.parse(params?.toString('utf8') ?? NOTHING) as { readonly uri: string };
    if (method === 'resources/unsubscribe') this.#stream.unsubscribe(uri);
    else this.#stream.subscribe(uri);
    return answer();
  }

  async #sendOwn(params: string, sink: ReplySink): Promise<RequestHandle> {
    const credential = await this.#owner.authorize?.();
    const request = {
      method: 'subscriptions/listen',
      params: Buffer.from(params),
      id: Buffer.from('0'),
      timeoutMs: LONGEST_STREAM_MS,
      credential,
    };
    return this.#send(request, sink, this.#options.streams);
  }

  #send(request: BackendRequest, sink: ReplySink, dispatcher: Dispatcher): RequestHandle {
    this.#lastId += 1;
    const ownId = String(this.#lastId);
    const { client, credential, headers: extra = {} } = request;
    const params = withMeta(request.params, client ? metaMembers(client) : this.#ownMembers);
    const beside = Object.entries(extra).flatMap((header) =>
      Object.hasOwn(this.#options.headers, header[0]) ? [] : header,
    );
    const plain = [...beside, ...this.#headers, ...mirroredHeaders(request)];
    const headers = withCredential(plain, credential);
    const body = this.#bodies.of(ownId, { ...request, params });
    const sized = Buffer.isBuffer(body) ? headers : [...headers, 'content-length', String(body.length)];
    const pieces = Buffer.isBuffer(body) ? [body] : body.pieces;
    const sign = credential?.[SIGN] && (() => this.#signed(sized, credential, pieces));
    const host = dispatcher === this.dispatcher ? this : streamHost(this, dispatcher);
    return new HttpExchange({ ...request, params }, sink, host, { headers: sized, body, ownId, sign });
  }

  #signed(headers: string[], credential: CredentialHeaders, body: readonly Buffer[]): Promise<string[]> {
    return withSignature({ method: 'POST', origin: this.origin, path: this.path, headers, body }, credential);
  }

  /** Returns a sink that notices a backend which no longer speaks the revision. Its request was not executed. */
  #watched(sink: ReplySink): ReplySink {
    const fail: ReplySink['fail'] = (failure) => {
      const isOther = failure.kind === 'refused' && (failure.status === undefined || failure.status === 405);
      if (isOther) {
        this.alive = false;
        this.#options.onOtherEra();
      }
      sink.fail(isOther ? { ...failure, kind: 'session_lost' } : failure);
    };
    return {
      reply: (message) => {
        sink.reply(message);
      },
      part: (piece) => sink.part(piece),
      end: () => {
        sink.end();
      },
      taken: () => sink.taken?.(),
      collecting: (bytes) => sink.collecting?.(bytes) !== false,
      message: (message, envelope) => {
        sink.message(message, envelope);
      },
      fail,
    };
  }

  readonly #newQuestion = (): string => {
    this.#lastId += 1;
    return `"question-${String(this.#lastId)}"`;
  };

  readonly #ended = (request: BridgedRequest): void => {
    this.#bridged.delete(request);
  };
}

/** Longest life of a stream, ms: the longest of a timer. */
const LONGEST_STREAM_MS = 2_147_483_647;

const DONE: RequestHandle = {
  cancel: () => undefined,
  resume: () => undefined,
  pauseTimeout: () => undefined,
  restartTimeout: () => undefined,
};

/** Returns the host of an exchange that uses other connections. */
const streamHost = (channel: ModernChannel, dispatcher: Dispatcher): ExchangeHost => ({
  dispatcher,
  origin: channel.origin,
  path: channel.path,
  maxReplyBytes: channel.maxReplyBytes,
  hasSession: false,
  cancelled: () => undefined,
  sessionLost: () => undefined,
  resumeHeaders: () => channel.resumeHeaders(),
});
