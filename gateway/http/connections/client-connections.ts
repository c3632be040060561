import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import {
  ClosableConnections,
  networkOf,
  type AddressReader,
  CONNECTION,
  connectionOf,
  type ClientConnection,
} from './closable-connections.ts';
import { isFarAhead, overweight } from './uncounted-bytes.ts';

export interface ConnectionLimits {
  /** Most connections that have sent a request. */
  readonly most: number;
  /** Called for each connection that is closed because there are too many. */
  readonly onClosed?: (() => void) | undefined;
  /** Returns the reader of the addresses of clients; that of their peers when absent. */
  readonly addresses?: (() => AddressReader) | undefined;
}

const HEAD_MS = 10_000;

/** Returns the options of a server whose clients must send the head of a request within this time. */
export const headTimes = (headMs = HEAD_MS): { headersTimeout: number; connectionsCheckingInterval: number } => ({
  headersTimeout: headMs,
  connectionsCheckingInterval: headMs / 5,
});

/** Paths that are served although there are too many connections: Kubernetes must not restart a gateway that is only full. */
const PROBES = new Set(['/health', '/ping', '/readyz', '/healthz', '/metrics', '/status']);
/** Share of the connections that is kept for new ones, while all others are in use. */
const RESERVED_SHARE = 1 / 16;
/**
 * Share of the connections that one address may hold without a request, unless these are few: a program may open some hundred at
 * once, whose requests the gateway reads later.
 */
const SILENT_SHARE = 1 / 4;
const FEW = 256;
/** Time after the stop request, and after the last response of a connection, for which its client may return. */
const RETURN_MS = 2_000;
/** Time for which requests wait until the server has stopped to listen: most clients think less between two requests. */
const HOLD_MS = 1_000;
/** Longest time after it until a moment without a new or closed connection. */
const LAST_MS = 200;
const QUIET_MS = 5;
const WEIGH_EVERY_MS = 250;
/** Longest turn of the event loop in which no client has connected unseen. */
const TURN_MS = 0.3;

/**
 * Connections of one HTTP server. A new connection is always accepted. At the limit, it takes the place of the oldest one without a
 * request; when it sends its first request, that of one whose client does nothing (`ClosableConnections`). Without any such
 * connection only probes are answered.
 */
export class ClientConnections {
  readonly #most: number;
  readonly #reserved: number;
  readonly #silentPerAddress: number;
  readonly #onClosed: () => void;
  readonly #handle: RequestListener;
  /** Connections without a request, the oldest first. */
  readonly #silent = new Set<ClientConnection>();
  readonly #silentOf = new Map<string, Set<ClientConnection>>();
  readonly #used = new Set<ClientConnection>();
  readonly #closable: ClosableConnections;
  /** Time of the stop request; undefined before. */
  #endingAt: number | undefined;
  /** Time at which a connection was opened or closed. */
  #changedAt = 0;
  /** Requests that wait until the server has stopped to listen. */
  #held: Parameters<RequestListener>[] | undefined;

  /** Passes the requests of `server` to `handle`. */
  constructor(
    server: Server,
    handle: RequestListener,
    { most, onClosed = () => undefined, addresses = () => peerOf }: ConnectionLimits,
  ) {
    this.#most = most;
    this.#reserved = Math.ceil(most * RESERVED_SHARE);
    this.#silentPerAddress = Math.max(FEW, Math.ceil(most * SILENT_SHARE));
    this.#onClosed = onClosed;
    this.#closable = new ClosableConnections(this.#used, most, addresses);
    const forget = (socket: Socket): void => {
      this.#changedAt = performance.now();
      this.#forget(connectionOf(socket));
    };
    function onClose(this: Socket): void {
      forget(this);
    }
    server.on('connection', (socket) => {
      this.#accept(socket);
      socket.on('close', onClose);
    });
    server.on('request', (req, res) => {
      if (this.#begin(req, res)) handle(req, res);
    });
    this.#handle = handle;
    server.on('listening', () => {
      const timer = setInterval(() => {
        this.#closeOverweight();
      }, WEIGH_EVERY_MS).unref();
      server.on('close', () => {
        clearInterval(timer);
      });
    });
  }

  /** Number of requests without a complete response, except event streams of GET, which may be endless. */
  get unanswered(): number {
    let count = 0;
    for (const { res } of this.#used) if (res && !(res.headersSent && res.req.method === 'GET')) count += 1;
    return count;
  }

  /** True while clients without a running request may return on their open connections. */
  get isAwaiting(): boolean {
    const from = performance.now() - RETURN_MS;
    const mayReturn = ({ res, since }: ClientConnection): boolean =>
      !res && Math.max(since, this.#endingAt ?? since) > from;
    for (const connection of this.#used) if (mayReturn(connection)) return true;
    for (const connection of this.#silent) if (mayReturn(connection)) return true;
    return false;
  }

  /** Lets each connection end with its next response, also of a request that already runs. */
  end(): void {
    this.#endingAt = performance.now();
    for (const { res } of this.#used) if (res && !res.headersSent) res.shouldKeepAlive = false;
  }

  /**
   * Calls `stop` at a moment at which no client connects, since to stop listening resets the connections that the server has not
   * accepted yet. While there are clients, requests wait first, so that they do not connect again for their next one. Takes until
   * `end` at most.
   */
  async stopListening(end: number, stop: () => void): Promise<void> {
    const held: Parameters<RequestListener>[] = (this.#held = []);
    const holdEnd = Math.min(performance.now() + HOLD_MS, end);
    const lastEnd = Math.min(holdEnd + LAST_MS, end);
    while (this.isAwaiting || this.unanswered > 0) {
      await sleep(1); // a process that has slept is rarely interrupted at once
      const turnAt = performance.now();
      await nextTurn(); // accepts one connection at most
      const now = performance.now();
      const isQuiet = now - turnAt < TURN_MS && now - this.#changedAt > QUIET_MS;
      if (now > (isQuiet ? holdEnd : lastEnd)) break;
    }
    stop();
    this.#held = undefined;
    for (const [req, res] of held) if (!res.destroyed) this.#handle(req, res);
  }

  /** Closes the connections without a running request. Returns false, and closes none, if a request has arrived meanwhile. */
  async closeIdle(): Promise<boolean> {
    await nextTurn(); // reads what has arrived during a pause of the process
    await nextTurn();
    if (this.unanswered > 0) return false;
    for (const { socket, res } of [...this.#silent, ...this.#used]) if (!res) socket.destroy();
    return true;
  }

  /** Counts a request. Returns false if it must not be handled now. */
  #begin(req: IncomingMessage, res: ServerResponse): boolean {
    const connection = connectionOf(req.socket);
    if (this.#endingAt !== undefined && !endWith(res, connection.res)) return false;
    connection.res = res;
    connection.since = performance.now();
    connection.isCounted = false;
    res.on('close', onAnswered);
    if (!connection.isUsed && !this.#admit(connection, req, res)) return false;
    if (!this.#held || isProbe(req)) return true;
    this.#held.push([req, res]);
    return false;
  }

  #accept(socket: Socket): void {
    const address = networkOf(socket.remoteAddress ?? '');
    const since = (this.#changedAt = performance.now());
    const connection: ClientConnection = {
      ...{ socket, address, since, isUsed: false, res: undefined },
      ...{ readBefore: 0, isCounted: false, bodyBytes: 0 },
    };
    (socket as { [CONNECTION]?: ClientConnection })[CONNECTION] = connection;
    this.#silent.add(connection);
    const siblings = this.#silentOf.get(address) ?? new Set();
    this.#silentOf.set(address, siblings.add(connection));
    if (siblings.size > this.#silentPerAddress) this.#closeFirst(siblings);
    else if (this.#silent.size > Math.max(this.#most - this.#used.size, this.#reserved)) this.#closeFirst(this.#silent);
  }

  /** Returns false after it has closed the connection. */
  #admit(connection: ClientConnection, req: IncomingMessage, res: ServerResponse): boolean {
    if (this.#used.size < this.#most || this.#makeRoom(req)) {
      this.#forget(connection);
      connection.isUsed = true;
      this.#used.add(connection);
      return true;
    }
    res.shouldKeepAlive = false;
    if (isProbe(req)) return true;
    this.#close(connection);
    return false;
  }

  #makeRoom(req: IncomingMessage): boolean {
    const closable = this.#closable.take(req);
    if (closable) this.#close(closable);
    return closable !== undefined;
  }

  #closeOverweight(): void {
    for (const connection of overweight(this.#silent, this.#used)) this.#close(connection);
  }

  #closeFirst(connections: Iterable<ClientConnection>): void {
    for (const connection of connections) {
      this.#close(connection);
      return;
    }
  }

  #close(connection: ClientConnection): void {
    this.#forget(connection);
    connection.socket.destroy();
    this.#onClosed();
  }

  #forget(connection: ClientConnection): void {
    this.#used.delete(connection);
    if (!this.#silent.delete(connection)) return;
    const siblings = this.#silentOf.get(connection.address);
    siblings?.delete(connection);
    if (siblings?.size === 0) this.#silentOf.delete(connection.address);
  }
}

const peerOf: AddressReader = ({ socket }) => socket.remoteAddress ?? '';

const isProbe = ({ method, url = '' }: IncomingMessage): boolean =>
  (method === 'GET' || method === 'HEAD') && PROBES.has(url.split('?', 1)[0] ?? '');

/**
 * Lets the connection end with this response instead of the previous one, which a client that pipelines still waits for. Returns
 * false if the previous one already ends it: this request must not run. @see RFC 9112 §9.6
 */
function endWith(res: ServerResponse, previous: ServerResponse | undefined): boolean {
  if (previous?.headersSent === true && !previous.shouldKeepAlive) return false;
  if (previous?.headersSent === false) previous.shouldKeepAlive = true;
  res.shouldKeepAlive = false;
  return true;
}

function onAnswered(this: ServerResponse): void {
  const connection = connectionOf(this.req.socket);
  if (connection.res !== this) return; // a pipelined request runs
  const { socket, readBefore, bodyBytes } = connection;
  const read = socket.bytesRead;
  if (isFarAhead(read - readBefore, this.req, bodyBytes)) socket.destroySoon();
  connection.res = undefined;
  connection.since = performance.now();
  connection.readBefore = read;
  connection.isCounted = false;
}
