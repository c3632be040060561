import type { Dispatcher } from 'undici';
import type { Logger } from '../../../contract/logger.ts';
import { scanBackendEnvelope } from '../../../http/json-scan.ts';
import { SIGN, type CredentialHeaders } from '../../../outgoing/authenticator.ts';
import { CODE } from '../../error-codes.ts';
import type { BackendRequest, Channel, ChannelOwner, ReplySink, RequestHandle, ServerFacts } from '../channel.ts';
import { DISCOVERY } from '../channel.ts';
import type { ClientInfo } from '../handshake.ts';
import type { ExchangeHost } from '../http/exchange-host.ts';
import { HttpExchange } from '../http/exchange.ts';
import { ACCEPT_POST, besideOwn, withCredential, withSignature } from '../http/headers.ts';
import { RequestBodies } from '../http/request-body.ts';
import { ModernRequests } from './modern-requests.ts';
import { mirroredHeaders } from './request-text.ts';

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
  readonly #bodies = new RequestBodies();
  readonly #requests: ModernRequests;
  #lastId = 0;

  constructor(options: ModernChannelOptions, owner: ChannelOwner, facts: ServerFacts) {
    this.#options = options;
    this.#owner = owner;
    this.facts = facts;
    this.dispatcher = options.calls;
    this.origin = options.url.origin;
    this.path = options.url.pathname + options.url.search;
    this.maxReplyBytes = options.maxReplyBytes;
    const own = Object.entries(options.headers).flat();
    this.#headers = [...own, 'content-type', 'application/json', 'accept', ACCEPT_POST];
    this.#requests = new ModernRequests({
      exchange: (request, sink) =>
        this.#send(request, sink, request.method === 'subscriptions/listen' ? options.streams : this.dispatcher),
      listen: async (request, sink) => {
        const credential = await owner.authorize?.();
        return this.#send({ ...request, credential }, sink, options.streams);
      },
      clientInfo: options.clientInfo,
      capabilities: facts.capabilities,
      onMessage: owner.onMessage,
      log: options.log,
    });
  }

  request(request: BackendRequest, sink: ReplySink): RequestHandle {
    return this.#requests.request(request, this.#watched(sink));
  }

  /** Sends a request and passes its reply on as it is. */
  exchange(request: BackendRequest, sink: ReplySink): RequestHandle {
    return this.#requests.send(request, sink);
  }

  send(message: Buffer): void {
    this.#requests.answer(message);
  }

  listen(): void {
    const isShared = this.#owner.key === DISCOVERY || this.#owner.authorize !== undefined;
    this.#requests.wantLists(isShared);
  }

  close(): Promise<void> {
    this.alive = false;
    this.#requests.close();
    return Promise.resolve();
  }

  /** Closing the stream of the reply cancels the request. */
  cancelled(): void {
    // see above
  }

  /** Reads the tools again after a call whose headers do not fit: the backend has changed the tool. */
  rejected(code: number, method: string): boolean {
    if (code === CODE.headerMismatch && method === 'tools/call')
      this.#owner.onMessage(TOOLS_CHANGED, scanBackendEnvelope(TOOLS_CHANGED));
    return code === CODE.unsupportedVersion && method !== 'server/discover';
  }

  sessionLost(): void {
    // there is no session
  }

  resumeHeaders(): Promise<string[]> {
    return Promise.reject(new Error('streams of this revision cannot be resumed'));
  }

  #send(request: BackendRequest, sink: ReplySink, dispatcher: Dispatcher): RequestHandle {
    this.#lastId += 1;
    const ownId = String(this.#lastId);
    const { credential, headers: extra = {} } = request;
    const plain = [...besideOwn(extra, this.#options.headers), ...this.#headers, ...mirroredHeaders(request)];
    const headers = withCredential(plain, credential);
    const body = this.#bodies.of(ownId, request);
    const sized = Buffer.isBuffer(body) ? headers : [...headers, 'content-length', String(body.length)];
    const pieces = Buffer.isBuffer(body) ? [body] : body.pieces;
    const sign = credential?.[SIGN] && (() => this.#signed(sized, credential, pieces));
    const host = dispatcher === this.dispatcher ? this : streamHost(this, dispatcher);
    return new HttpExchange(request, sink, host, { headers: sized, body, ownId, sign });
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
}

const TOOLS_CHANGED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');

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
