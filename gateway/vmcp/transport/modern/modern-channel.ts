import { methodOf } from '../../../contract/protocol/methods.ts';
import type { Dispatcher } from 'undici';
import { ACCEPT_ENCODING } from '../../../bytes/content-coding.ts';
import type { Logger } from '../../../contract/logger.ts';
import { scanBackendEnvelope, type Envelope } from '../../../http/json-scan.ts';
import { SIGN, type CredentialHeaders } from '../../../outgoing/authenticator.ts';
import { CODE } from '../../error-codes.ts';
import { toolHeadersOf } from '../../tool-headers.ts';
import {
  DISCOVERY,
  type BackendFailure,
  type BackendRequest,
  type Channel,
  type ChannelOwner,
  type ReplySink,
  type RequestHandle,
  type ServerFacts,
} from '../channel.ts';
import type { ClientInfo } from '../handshake.ts';
import type { ExchangeHost } from '../http/exchange-host.ts';
import { HttpExchange } from '../http/exchange.ts';
import { ACCEPT_POST, besideOwn, withCredential, withSignature, RequestBodies } from '../http/request.ts';
import { ModernRequests } from './modern-requests.ts';
import { membersAt, mirroredHeaders, openOfMeta, withMeta, type MetaMembers } from './request-text.ts';
import type { BodyPieces } from '../http/body-pieces.ts';

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
  path: string;
  readonly maxReplyBytes: number;
  readonly facts: ServerFacts;
  readonly #options: ModernChannelOptions;
  readonly #owner: ChannelOwner;
  readonly #headers: string[];
  /** Headers of the calls of a tool, by the text of the tool. */
  readonly #callHeaders = new WeakMap<Buffer, string[]>();
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
    const accepted = ['accept', ACCEPT_POST, 'accept-encoding', ACCEPT_ENCODING];
    this.#headers = [...own, 'content-type', 'application/json', ...accepted];
    this.#requests = new ModernRequests({
      exchange: (request, members, sink) => {
        const isStream = request.method === 'subscriptions/listen';
        return this.#send(request, members, sink, isStream ? options.streams : this.dispatcher);
      },
      listen: async (request, members, sink) => {
        const credential = await owner.authorize?.();
        return this.#send({ ...request, credential }, members, sink, options.streams);
      },
      clientInfo: options.clientInfo,
      capabilities: facts.capabilities,
      onMessage: owner.onMessage,
      log: options.log,
    });
  }

  request(request: BackendRequest, sink: ReplySink): RequestHandle {
    return this.#requests.request(request, new WatchedSink(sink, this.#onOtherEra));
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

  get hears(): boolean {
    return this.#requests.hears;
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
    if (code === CODE.headerMismatch && methodOf(method).callsTool)
      this.#owner.onMessage(TOOLS_CHANGED, scanBackendEnvelope(TOOLS_CHANGED));
    return code === CODE.unsupportedVersion && method !== 'server/discover';
  }

  sessionLost(): void {
    // there is no session
  }

  moved(path: string): void {
    this.path = path;
  }

  resumeHeaders(): Promise<string[]> {
    return Promise.reject(new Error('streams of this revision cannot be resumed'));
  }

  /** Sends a request with these members in `_meta`. */
  #send(request: BackendRequest, members: MetaMembers, sink: ReplySink, dispatcher: Dispatcher): RequestHandle {
    this.#lastId += 1;
    const ownId = String(this.#lastId);
    const { credential } = request;
    const headers = withCredential(this.#headersOf(request), credential);
    const body = this.#bodyOf(ownId, request, members);
    const sized = Buffer.isBuffer(body) ? headers : [...headers, 'content-length', String(body.length)];
    const pieces = () => (Buffer.isBuffer(body) ? [body] : body.pieces);
    const sign = credential?.[SIGN] && (() => this.#signed(sized, credential, pieces()));
    const host = dispatcher === this.dispatcher ? this : streamHost(this, dispatcher);
    return new HttpExchange(request, sink, host, { headers: sized, body, ownId, sign });
  }

  #signed(headers: string[], credential: CredentialHeaders, body: readonly Buffer[]): Promise<string[]> {
    return withSignature({ method: 'POST', origin: this.origin, path: this.path, headers, body }, credential);
  }

  #bodyOf(ownId: string, request: BackendRequest, members: MetaMembers): Buffer | BodyPieces {
    const { params } = request;
    const at = params && openOfMeta(params);
    return params === undefined || at === undefined
      ? this.#bodies.of(ownId, { ...request, params: withMeta(params, members) })
      : this.#bodies.of(ownId, request, at, membersAt(params, at, members));
  }

  /** Returns the headers without the credential. */
  #headersOf(request: BackendRequest): string[] {
    const { method, item, headers: extra } = request;
    const isCall = methodOf(method).callsTool === true && item !== undefined && extra === undefined;
    const known = isCall ? this.#callHeaders.get(item) : undefined;
    if (known) return known;
    const headers = [...besideOwn(extra ?? {}, this.#options.headers), ...this.#headers, ...mirroredHeaders(request)];
    if (isCall && toolHeadersOf(item).length === 0) this.#callHeaders.set(item, headers);
    return headers;
  }

  readonly #onOtherEra = (): void => {
    this.alive = false;
    this.#options.onOtherEra();
  };
}

/** Notices a backend that no longer speaks the revision. Its request was not executed. */
class WatchedSink implements ReplySink {
  readonly #sink: ReplySink;
  readonly #onOtherEra: () => void;

  constructor(sink: ReplySink, onOtherEra: () => void) {
    this.#sink = sink;
    this.#onOtherEra = onOtherEra;
  }

  reply(message: Buffer): void {
    this.#sink.reply(message);
  }

  taken(): void {
    this.#sink.taken?.();
  }

  collecting(bytes: number): boolean {
    return this.#sink.collecting?.(bytes) !== false;
  }

  message(message: Buffer, envelope: Envelope): void {
    this.#sink.message(message, envelope);
  }

  fail(failure: BackendFailure): void {
    const isOther = failure.kind === 'refused' && (failure.status === undefined || failure.status === 405);
    if (isOther) this.#onOtherEra();
    this.#sink.fail(isOther ? { ...failure, kind: 'session_lost' } : failure);
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
  moved: (path) => {
    channel.moved(path);
  },
  resumeHeaders: () => channel.resumeHeaders(),
});
