import type { IncomingHttpHeaders } from 'node:http';
import type { Response } from 'express';
import type { Identity } from '../../contract/identity.ts';
import type { ClientEnvelope } from '../../http/json-scan.ts';
import type { SessionFacts } from '../../policy/policy.ts';
import { SHUTTING_DOWN } from '../answers/ending.ts';
import { CODE } from '../error-codes.ts';
import { errorMessage } from '../message.ts';
import type { ConnectionState } from '../replicas/connection-state.ts';
import type { Replica } from '../replicas/replica.ts';
import type { Session } from '../session.ts';
import type { VirtualServer } from '../virtual-server.ts';
import { identityOf, principalOf } from './caller.ts';
import { initializeResult, readClientFacts } from './initialize.ts';
import type { EdgeOptions } from './post.ts';
import { StreamAnswer } from './stream-answer.ts';

/** Time that a client has for `initialize` before its stream is closed. */
const INITIALIZE_WITHIN_MS = 30_000;

/** A request `initialize`. */
export interface InitializeRequest {
  readonly body: Buffer;
  readonly envelope: ClientEnvelope;
  readonly headers: IncomingHttpHeaders;
  readonly identity: Identity | undefined;
}

/** Outcome of `initialize`: a state of the connection, with the session that was created. */
export type Initialized = Exclude<ConnectionState, { kind: 'created' }> | { kind: 'created'; session: SessionFacts };

/** Connection of the client of a message. */
export interface LegacyClientConnection {
  readonly principal: string;
  readonly session: Session | undefined;
  /** Throws `ScanError` and `TooManySessions`. Rejects with these and with `KeyValueStoreUnavailable`. */
  initialize(request: InitializeRequest): Initialized | Promise<Initialized>;
}

/** Stream of a client of HTTP+SSE (2024-11-05) in this process. Its session ends when it closes. */
export class LocalConnection implements LegacyClientConnection {
  readonly principal: string;
  session: Session | undefined;
  readonly #server: VirtualServer;
  readonly #options: EdgeOptions;
  readonly #id: string;
  readonly #res: Response;
  /** True while the store saves the session. */
  #isOpening = false;

  /** Starts the event stream. It closes when no session begins in time. */
  constructor(server: VirtualServer, options: EdgeOptions, id: string, res: Response, messagesUrl: string) {
    this.#server = server;
    this.#options = options;
    this.#id = id;
    this.#res = res;
    this.principal = principalOf(res);
    res.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    });
    res.write(`event: endpoint\ndata: ${messagesUrl}\n\n`);
    const unused = setTimeout(() => {
      this.closeUnused();
    }, INITIALIZE_WITHIN_MS);
    res.on('close', () => {
      clearTimeout(unused);
      if (this.session) server.sessions.end(this.session, 'stream_closed');
    });
  }

  /** Identity of the request that opened the stream. */
  get identity(): Identity | undefined {
    return identityOf(this.#res);
  }

  /** Closes the stream unless it has a session. */
  closeUnused(): void {
    if (!this.session) this.#res.end();
  }

  initialize(request: InitializeRequest): Initialized | Promise<Initialized> {
    if (this.session || this.#isOpening || this.#res.writableEnded) return { kind: 'open' };
    const server = this.#server;
    const { body, envelope, identity } = request;
    const client = readClientFacts(body, envelope);
    if (!client || server.draining) return this.#reject(request, client !== undefined);
    const { replica } = server;
    const session = server.openSession(this.principal, identity, client, replica && this.#id);
    const saving = session.shared && replica?.sessions.save(session);
    if (!saving) return this.#open(session, request);
    this.#isOpening = true;
    return saving
      .then(
        () => this.#open(session, request),
        (error: unknown) => {
          server.sessions.end(session, 'released');
          throw error;
        },
      )
      .finally(() => {
        this.#isOpening = false;
      });
  }

  #reject({ body, envelope }: InitializeRequest, isValid: boolean): Initialized {
    const code = isValid ? CODE.internal : CODE.invalidParams;
    const text = isValid ? SHUTTING_DOWN.message : 'initialize needs a "protocolVersion" that is a string';
    const message = errorMessage(body.subarray(envelope.id?.start, envelope.id?.end), code, text);
    this.#res.write(`event: message\ndata: ${message.toString()}\n\n`);
    return { kind: 'rejected', code };
  }

  #open(session: Session, { body, envelope, headers }: InitializeRequest): Initialized {
    const server = this.#server;
    if (session.ended || this.#res.writableEnded || this.#res.destroyed) {
      server.sessions.end(session, 'stream_closed');
      return { kind: 'unknown' };
    }
    this.session = session;
    const view = server.views.listed(session);
    session.streams.main.adopt(this.#res, this.identity);
    server
      .observe(new StreamAnswer(session, body.subarray(envelope.id?.start, envelope.id?.end)), 'initialize', session, {
        body,
        envelope,
        received: headers,
      })
      .result(initializeResult(session.revision, this.#options.version, view));
    server.listen(session);
    return { kind: 'created', session };
  }
}

/** Connection of a client at another replica. This process serves its requests all the same. */
export class ConnectionElsewhere implements LegacyClientConnection {
  readonly principal: string;
  readonly session: Session | undefined;
  readonly #id: string;
  readonly #replica: Replica;

  constructor(replica: Replica, id: string, principal: string, session: Session | undefined) {
    this.#replica = replica;
    this.#id = id;
    this.principal = principal;
    this.session = session;
  }

  async initialize({ body, envelope }: InitializeRequest): Promise<Initialized> {
    const client = readClientFacts(body, envelope);
    const state = await this.#replica.connections.state(this.#id, this.principal, body);
    if (state.kind !== 'created') return state;
    const { revision, client: info } = client ?? { revision: '', client: { name: '', version: '' } };
    return { kind: 'created', session: { id: this.#id, principal: this.principal, revision, client: info } };
  }
}
