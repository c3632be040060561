import type { Dispatcher } from 'undici';
import { ACCEPT_ENCODING, type Coding } from '../../../bytes/content-coding.ts';
import {
  type BackendFailure,
  type BackendRequest,
  type Channel,
  type ChannelOwner,
  type ReplySink,
  type RequestHandle,
  type ServerFacts,
  type Transport,
  BackendError,
} from '../channel.ts';
import { Collected } from '../../budgets/collected.ts';
import { failureOfAbort, unlessAborted } from '../abort.ts';
import { initialize, INITIALIZED, readServerFacts, type ClientInfo } from '../handshake.ts';
import { decodedPieces, replyCoding } from '../http/body-decoder.ts';
import { failureOfRedirect, isRedirect, placeOf, requestFollowing } from '../http/redirect.ts';
import { failureOfError, failureOfStatus, garbage } from '../failure.ts';
import { hostRefusal, mayRefuseHost, REASON_BYTES } from '../http/refused-host.ts';
import { JsonRpcPeer, type Lane } from '../json-rpc-peer.ts';
import { mediaTypeOf } from '../reply.ts';
import { requestReply } from '../request-reply.ts';
import { createSseParser, type SseEvent } from '../sse-parser.ts';
import type { Logger } from '../../../contract/logger.ts';

export interface SseTransportOptions {
  /** Backend name, for the log. */
  readonly name: string;
  /** URL of the event stream. */
  readonly url: URL;
  /** Has no limit of connections: each channel uses one for its stream. Closed by its creator. */
  readonly dispatcher: Dispatcher;
  /** Headers of every request, by lower-case name. They replace those of a single request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly clientInfo: ClientInfo;
  /** Longest wait for stream, endpoint and handshake together, ms. */
  readonly initTimeoutMs: number;
  readonly maxMessageBytes: number;
  readonly log: Logger;
}

/**
 * Creates a transport for HTTP+SSE of 2024-11-05: one event stream per channel, and a POST for each message to the
 * backend.
 */
export function sseTransport(options: SseTransportOptions): Transport {
  const channels = new Set<SseChannel>();
  return {
    async open(owner, signal) {
      const channel = new SseChannel(options, owner, () => channels.delete(channel));
      channels.add(channel);
      await channel.open(signal);
      return channel;
    },
    async close() {
      await Promise.all([...channels].map((channel) => channel.close()));
    },
  };
}

/** Longest wait for the POST of a notification: it is small, so a slow answer means that the backend hangs. */
const NOTIFY_TIMEOUT_MS = 30_000;
const SHORTEST_HEADERS_TIMEOUT_MS = 1_000;

class SseChannel implements Channel {
  alive = true;
  readonly #options: SseTransportOptions;
  readonly #owner: ChannelOwner;
  readonly #onEnd: () => void;
  readonly #lane: Lane;
  readonly #peer: JsonRpcPeer;
  readonly #abort = new AbortController();
  /** Requests without an answer to their POST, by the gateway's id. */
  readonly #posting = new Map<number, Promise<unknown>>();
  readonly #endpoint = Promise.withResolvers<URL>();
  /** URL of the event stream, behind redirects. */
  #url: URL;
  #hasEndpoint = false;
  /** The endpoint behind redirects. */
  #movedTo: URL | undefined;
  #facts: ServerFacts | undefined;
  #failure: BackendFailure | undefined;

  constructor(options: SseTransportOptions, owner: ChannelOwner, onEnd: () => void) {
    this.#options = options;
    this.#url = options.url;
    this.#owner = owner;
    this.#onEnd = onEnd;
    this.#lane = { owner: owner.key, onMessage: owner.onMessage };
    const { name, log } = options;
    this.#peer = new JsonRpcPeer({
      backend: name,
      isolation: 'session',
      log,
      wire: {
        request: (message, id, request) => {
          this.#sendRequest(message, id, request);
        },
        notify: (message, after) => {
          void this.#sendNotification(message, after);
        },
      },
    });
    this.#peer.join(this.#lane);
    this.#endpoint.promise.catch(() => undefined);
  }

  get facts(): ServerFacts {
    if (!this.#facts) throw new Error('facts before the handshake');
    return this.#facts;
  }

  async open(signal: AbortSignal): Promise<void> {
    const { initTimeoutMs } = this.#options;
    const timer = setTimeout(() => {
      this.#fail({ kind: 'timeout', detail: `no MCP session after ${initTimeoutMs} ms` });
    }, initTimeoutMs);
    const onAbort = () => {
      this.#fail(failureOfAbort(signal));
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      if (signal.aborted) onAbort();
      await this.#connect();
      await this.#handshake();
    } catch (error) {
      const failure = this.#failure ?? failureOfError(error);
      this.#fail(failure);
      throw new BackendError(failure);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  request(request: BackendRequest, sink: ReplySink): RequestHandle {
    return this.#peer.call(this.#lane, request, sink);
  }

  send(message: Buffer): void {
    this.#peer.send(message);
  }

  listen(): void {
    // the event stream is always open
  }

  close(): Promise<void> {
    this.#peer.leave(this.#lane);
    this.#fail({ kind: 'cancelled', detail: 'the channel was closed' });
    return Promise.resolve();
  }

  async #connect(): Promise<void> {
    const { url, dispatcher, headers, initTimeoutMs } = this.#options;
    const credential = await unlessAborted(this.#owner.authorize?.(), this.#abort.signal);
    const own = { accept: 'text/event-stream', 'accept-encoding': ACCEPT_ENCODING, 'cache-control': 'no-cache' };
    const request = {
      method: 'GET',
      headers: { ...headers, ...credential, ...own },
      headersTimeout: initTimeoutMs,
      bodyTimeout: 0,
      signal: this.#abort.signal,
    } as const;
    const response = await requestFollowing(dispatcher, placeOf(url), request, (path) => {
      this.#url = new URL(path, url);
    });
    const { statusCode, headers: received, body } = response;
    const type = textOf(received['content-type']);
    try {
      if (statusCode !== 200 || mediaTypeOf(type) !== 'text/event-stream')
        throw new BackendError((await refusalOf(response)) ?? failureOfOpening(response, this.#url));
      void this.#read(body, replyCoding(received['content-encoding']));
    } catch (error) {
      body.on('error', () => undefined).destroy();
      throw error;
    }
  }

  async #handshake(): Promise<void> {
    const { clientInfo, initTimeoutMs } = this.#options;
    await this.#endpoint.promise;
    const credential = await this.#owner.authorize?.();
    const reply = await initialize(this.#owner, clientInfo, (params) =>
      requestReply((request, sink) => this.request(request, sink), {
        method: 'initialize',
        params,
        id: Buffer.from('0'),
        timeoutMs: initTimeoutMs,
        credential,
      }),
    );
    this.#facts = readServerFacts(reply, true);
    await this.#postOwn(INITIALIZED).catch((error: unknown) => {
      if (!(error instanceof BackendError) || !this.alive) throw error;
      this.#options.log.debug('backend refuses notifications/initialized', { error: error.message });
    });
  }

  async #read(body: Dispatcher.ResponseData['body'], coding: Coding | undefined): Promise<void> {
    const parser = createSseParser((event) => {
      this.#onEvent(event);
    }, this.#options.maxMessageBytes);
    const collected = this.#owner.account && new Collected(this.#owner.account);
    try {
      for await (const piece of decodedPieces(body, coding)) {
        parser.push(piece);
        if (collected?.fits(parser.pending()) !== false) continue;
        throw new BackendError({
          kind: 'overloaded',
          detail: 'a message exceeds the budget of reply bytes',
          budget: 'reply_bytes',
        });
      }
      this.#fail({ kind: 'unavailable', detail: 'the backend ended the event stream' });
    } catch (error) {
      this.#fail(failureOfError(error));
    } finally {
      collected?.release();
    }
  }

  #onEvent({ event, data }: SseEvent): void {
    if (!this.alive) return;
    if (event === 'endpoint') this.#onEndpoint(data.toString('utf8'));
    else if (event === 'message' && data.length > 0) this.#peer.receive(data);
  }

  /** Handles the endpoint event; later ones are ignored. */
  #onEndpoint(reference: string): void {
    if (this.#hasEndpoint) return;
    this.#hasEndpoint = true;
    const url = this.#url;
    const endpoint = URL.canParse(reference, url.href) ? new URL(reference, url) : undefined;
    if (endpoint?.origin === url.origin && endpoint.username === '' && endpoint.password === '')
      this.#endpoint.resolve(endpoint);
    else this.#fail(garbage('the endpoint event names another origin than that of the stream'));
  }

  #sendRequest(message: Buffer, id: number, request: BackendRequest): void {
    const posted = this.#post(message, request)
      .catch((error: unknown) => {
        const failure = failureOfError(error);
        this.#peer.failCall(id, failure);
        if (failure.kind === 'session_lost') this.#fail(failure);
      })
      .finally(() => this.#posting.delete(id));
    this.#posting.set(id, posted);
  }

  async #sendNotification(message: Buffer, after: number | undefined): Promise<void> {
    const { log, name } = this.#options;
    try {
      if (after !== undefined) await this.#posting.get(after);
      await this.#postOwn(message);
    } catch (error) {
      log.debug('message to backend lost', { backend: name, error: asError(error).message });
    }
  }

  async #postOwn(message: Buffer): Promise<void> {
    await this.#post(message, { credential: await this.#owner.authorize?.(), timeoutMs: NOTIFY_TIMEOUT_MS });
  }

  /** Sends a message. The backend's answer only confirms its receipt. */
  async #post(
    message: Buffer,
    { headers: extra, credential, timeoutMs }: Pick<BackendRequest, 'headers' | 'credential' | 'timeoutMs'>,
  ): Promise<void> {
    const { dispatcher, headers } = this.#options;
    const endpoint = this.#movedTo ?? (await this.#endpoint.promise);
    const revision = this.#facts ? { 'mcp-protocol-version': this.#facts.revision } : {};
    const patience = Math.max(timeoutMs, SHORTEST_HEADERS_TIMEOUT_MS);
    const request = {
      method: 'POST',
      headers: { ...extra, ...headers, ...credential, ...revision, 'content-type': 'application/json' },
      body: message,
      headersTimeout: patience,
      bodyTimeout: patience,
      signal: this.#abort.signal,
    } as const;
    const response = await requestFollowing(dispatcher, placeOf(endpoint), request, (path) => {
      this.#movedTo = new URL(path, endpoint);
    });
    const { statusCode } = response;
    if (statusCode >= 200 && statusCode <= 299) {
      await response.body.dump();
      return;
    }
    const failure = (await refusalOf(response)) ?? failureOfReply(response, endpoint);
    throw new BackendError(this.#facts ? failure : failureOfEndpoint(failure, statusCode));
  }

  #fail(failure: BackendFailure): void {
    if (!this.alive) return;
    this.alive = false;
    this.#failure = failure;
    this.#endpoint.reject(new BackendError(failure));
    this.#peer.close(failure);
    this.#abort.abort();
    this.#onEnd();
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

const textOf = (header: string | string[] | undefined): string =>
  Array.isArray(header) ? header.join(', ') : (header ?? '');

function failureOfReply({ statusCode, headers }: Dispatcher.ResponseData, url: URL): BackendFailure {
  if (isRedirect(statusCode)) return failureOfRedirect(statusCode, headers['location'], url);
  return failureOfStatus(statusCode, textOf(headers['content-type']), textOf(headers['retry-after']));
}

/** Returns the failure of a reply whose body names the `Host` header as its reason. Ends the body. */
async function refusalOf({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<BackendFailure | undefined> {
  const pieces: Buffer[] = [];
  let length = 0;
  if (mayRefuseHost(statusCode, headers['content-length'])) {
    for await (const piece of body as AsyncIterable<Buffer>) {
      pieces.push(piece);
      length += piece.length;
      if (length > REASON_BYTES) break;
    }
  }
  body.on('error', () => undefined).destroy();
  return length > REASON_BYTES ? undefined : hostRefusal(statusCode, Buffer.concat(pieces).toString());
}

/** Returns the failure of the first request to the endpoint: there is no session yet that can be lost. */
function failureOfEndpoint(failure: BackendFailure, status: number): BackendFailure {
  if (failure.kind !== 'session_lost') return failure;
  const cause = `the endpoint that its event stream names answers HTTP ${String(status)}: the path may lack a prefix that a proxy in front of it needs`;
  return { ...failure, kind: 'unavailable', detail: `${failure.detail} of the endpoint`, cause };
}

/** Returns the failure of a request before the session exists. */
function failureOfOpening(reply: Dispatcher.ResponseData, url: URL): BackendFailure {
  const failure = failureOfReply(reply, url);
  if (failure.kind !== 'session_lost') return failure;
  return { ...failure, kind: 'unavailable', cause: `its URL answers HTTP ${String(reply.statusCode)}: check the path` };
}
