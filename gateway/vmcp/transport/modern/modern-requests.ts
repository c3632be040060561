import type { Logger } from '../../../contract/logger.ts';
import { scanBackendEnvelope, type Envelope } from '../../../http/json-scan.ts';
import { isSessionless } from '../../../contract/protocol/revisions.ts';
import { resultMessage } from '../../message.ts';
import type { BackendRequest, ReplySink, RequestHandle } from '../channel.ts';
import type { ClientInfo } from '../handshake.ts';
import { BridgedRequest } from './bridged-request.ts';
import { ListenStream } from './listen-stream.ts';
import { metaMembers, ownMembers, type MetaMembers } from './request-text.ts';

export interface ModernRequestsOptions {
  /** Sends a request with these members in `_meta`, and passes its reply on as it is. */
  readonly exchange: (request: BackendRequest, members: MetaMembers, sink: ReplySink) => RequestHandle;
  /** Sends `subscriptions/listen` on a connection of its own, where there are several. */
  readonly listen: (
    request: Omit<BackendRequest, 'credential'>,
    members: MetaMembers,
    sink: ReplySink,
  ) => Promise<RequestHandle>;
  /** The gateway, for its own requests. */
  readonly clientInfo: ClientInfo;
  /** Capabilities of the backend. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly onMessage: (message: Buffer, envelope: Envelope) => void;
  readonly log: Logger;
}

const NOTHING = '{}';
const OWN_ID = Buffer.from('0');

/** Requests of one channel to a backend of the revision without sessions, over any transport. */
export class ModernRequests {
  readonly #options: ModernRequestsOptions;
  readonly #ownMembers: MetaMembers;
  readonly #bridged = new Set<BridgedRequest>();
  #stream: ListenStream | undefined;
  #lastQuestion = 0;

  constructor(options: ModernRequestsOptions) {
    this.#options = options;
    this.#ownMembers = ownMembers(options.clientInfo);
  }

  /** Sends a request of a client of any revision, or of the gateway itself. */
  request(request: BackendRequest, sink: ReplySink): RequestHandle {
    const local = this.#answerHere(request, sink);
    if (local) return local;
    const wanted = request.method === 'ping' ? { ...request, method: 'server/discover' } : request;
    if (isSessionless(request.client?.revision)) return this.send(wanted, sink);
    const send = (each: BackendRequest, own: ReplySink): RequestHandle => this.send(each, own);
    const bridged = new BridgedRequest(wanted, sink, send, this.#newQuestion, this.#ended);
    this.#bridged.add(bridged);
    return bridged;
  }

  /** Sends a request and passes its reply on as it is. */
  send(request: BackendRequest, sink: ReplySink): RequestHandle {
    const members = request.client ? metaMembers(request.client) : this.#ownMembers;
    return this.#options.exchange(request, members, sink);
  }

  /** Takes the response of a client to a question. The revision has no notifications of clients. */
  answer(message: Buffer): void {
    const envelope = scanBackendEnvelope(message);
    if (envelope.method !== undefined) return;
    for (const request of this.#bridged) if (request.answered(message, envelope)) return;
  }

  wantLists(wanted: boolean): void {
    this.#listen.wantLists(wanted);
  }

  /** True while a stream for announcements is open. */
  get hears(): boolean {
    return this.#stream?.isOpen === true;
  }

  close(): void {
    this.#stream?.close();
  }

  get #listen(): ListenStream {
    const { capabilities, onMessage, log, listen } = this.#options;
    return (this.#stream ??= new ListenStream({
      capabilities,
      onMessage,
      log,
      send: (text, sink) => {
        const request = { method: 'subscriptions/listen', params: Buffer.from(text), id: OWN_ID };
        return listen({ ...request, timeoutMs: LONGEST_STREAM_MS }, this.#ownMembers, sink);
      },
    }));
  }

  /** Serves methods that the revision does not have. */
  #answerHere({ method, params, id }: BackendRequest, sink: ReplySink): RequestHandle | undefined {
    switch (method) {
      case 'logging/setLevel': // each request names its level
        break;
      case 'resources/subscribe':
        this.#listen.subscribe(uriOf(params));
        break;
      case 'resources/unsubscribe':
        this.#listen.unsubscribe(uriOf(params));
        break;
      default:
        return undefined;
    }
    queueMicrotask(() => {
      sink.reply(resultMessage(id, NOTHING));
    });
    return DONE;
  }

  readonly #newQuestion = (): string => {
    this.#lastQuestion += 1;
    return `"question-${String(this.#lastQuestion)}"`;
  };

  readonly #ended = (request: BridgedRequest): void => {
    this.#bridged.delete(request);
  };
}

const uriOf = (params: Buffer | undefined): string =>
  (JSON.parse(params?.toString('utf8') ?? NOTHING) as { readonly uri: string }).uri;

/** Longest life of a stream, ms: the longest of a timer. */
export const LONGEST_STREAM_MS = 2_147_483_647;

const DONE: RequestHandle = {
  cancel: () => undefined,
  pauseTimeout: () => undefined,
  restartTimeout: () => undefined,
};
