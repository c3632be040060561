import { createServer, IncomingMessage, ServerResponse, type RequestListener, type Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { connectionOf, type AddressReader } from './http/connections/closable-connections.ts';
import { ClientConnections, headTimes } from './http/connections/client-connections.ts';
import { recordListener } from './outbound/own-listeners.ts';

/** Returns what is wrong with a port, and what to do. */
function adviceFor({ code, message }: NodeJS.ErrnoException): string {
  switch (code) {
    case 'EADDRINUSE':
      return 'is in use: stop what listens there or choose another port';
    case 'EACCES':
      return 'cannot be used (EACCES): choose a port above 1023';
    case 'EADDRNOTAVAIL':
      return 'cannot be used (EADDRNOTAVAIL): use an address of this machine';
    default:
      return `cannot be used (${code ?? message}): choose another host or port`;
  }
}

/** The gateway cannot listen on the address. */
export class ListenError extends Error {
  readonly port: number;
  constructor(host: string, port: number, cause: NodeJS.ErrnoException) {
    super(`port ${String(port)} on ${host} ${adviceFor(cause)}`, { cause });
    this.name = 'ListenError';
    this.port = port;
  }
}

export interface Listener {
  readonly host: string;
  readonly port: number;
  /** Bound address and port, such as `0.0.0.0:4483` or `[::1]:4483`. */
  readonly address: string;
  /** Number of requests without a complete response, except event streams of GET, which may be endless. */
  readonly unanswered: () => number;
  /** True while clients without a running request may return on their open connections. */
  readonly isAwaiting: () => boolean;
  /** Lets each connection end with its next response, also of a request that already runs. */
  endConnections(): void;
  /** Rejects new connections, at a moment at which no client connects, or at `end` (a time of `performance.now()`). */
  refuseConnections(end: number): Promise<void>;
  /** Closes the connections without a running request. Returns false, and closes none, if a request has arrived meanwhile. */
  closeIdle(): Promise<boolean>;
  /** Closes the remaining connections. */
  close(): Promise<void>;
}

export interface ListenerLimits {
  /** Most connections that have sent a request. Above it, a new one takes the place of one whose client does nothing. */
  readonly maxConnections?: number;
  /** Called for each connection that is closed because there are too many. */
  readonly onRefused?: () => void;
  /** Returns the reader of the addresses of clients; that of their peers when absent. */
  readonly addresses?: () => AddressReader;
  readonly unreadMs?: number;
  /** Time in which a client must send the head of a request. */
  readonly headMs?: number;
  /** True for the endpoint of MCP clients. */
  readonly servesMcp?: boolean;
}

/** Default limit, for management listeners: scrapes, probes and operators. */
const MOST_CONNECTIONS = 256;
const HTTP_LIMITS = {
  maxHeaderSize: 64 * 1024,
  requestTimeout: 30_000,
  keepAliveTimeout: 120_000,
  keepAliveTimeoutBuffer: 5_000, // clients learn of 120 s, and may be slow to act on it
};
/** Time after which a client that reads nothing of its response is disconnected. */
const UNREAD_MS = 30_000;

/** Listens with the gateway's limits. Rejects with `ListenError`. */
export async function listen(
  app: RequestListener,
  host: string,
  port: number,
  {
    maxConnections = MOST_CONNECTIONS,
    unreadMs = UNREAD_MS,
    servesMcp = false,
    onRefused,
    addresses,
    headMs,
  }: ListenerLimits = {},
): Promise<Listener> {
  const server = createServer({ ...HTTP_LIMITS, ...headTimes(headMs), ...messagesOf(app) });
  const handle: RequestListener = (req, res) => {
    res.on('error', destroy);
    app(req, res);
  };
  const connections = new ClientConnections(server, handle, { most: maxConnections, onClosed: onRefused, addresses });
  server.timeout = unreadMs;
  server.on('timeout', cutUnread); // a listener of each response would cost time
  const { ip, port: boundPort } = await bind(server, host, port);
  recordListener(server, servesMcp ? 'mcp' : 'internal');
  return {
    host,
    port: boundPort,
    address: `${ip.includes(':') ? `[${ip}]` : ip}:${String(boundPort)}`,
    unanswered: () => connections.unanswered,
    isAwaiting: () => connections.isAwaiting,
    endConnections: () => {
      connections.end();
    },
    refuseConnections: (end) =>
      connections.stopListening(end, () => {
        stopListening(server);
      }),
    closeIdle: () => connections.closeIdle(),
    close: () =>
      new Promise((resolve) => {
        if (server.listening) stopListening(server);
        server.closeAllConnections();
        resolve();
      }),
  };
}

/** Returns the bound address. Rejects with `ListenError`. */
async function bind(server: Server, host: string, port: number): Promise<{ ip: string; port: number }> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      reject(new ListenError(host, port, error));
    });
    server.listen({ host, port, backlog: 1024 }, resolve);
  });
  const bound = server.address();
  return typeof bound === 'object' && bound ? { ip: bound.address, port: bound.port } : { ip: host, port };
}

/**
 * Returns constructors of messages with the prototypes of an Express app. Express sets these on each message. A prototype
 * that changes makes V8 forget what it knows about the object, which costs 4 % of the CPU time of a call.
 */
function messagesOf(app: RequestListener): object {
  const { request, response } = app as { request?: object; response?: object };
  if (!request || !response) return {};
  return {
    IncomingMessage: withPrototype(IncomingMessage, request),
    ServerResponse: withPrototype(ServerResponse, response),
  };
}

function withPrototype(constructor: typeof IncomingMessage | typeof ServerResponse, prototype: object) {
  function Message(first: never, second: never): object {
    return Reflect.construct(constructor, [first, second], Message) as object;
  }
  Message.prototype = prototype;
  return Message;
}

/** Ends an idle connection. A response with nothing to send is a slow call or a stream, and stays open. */
function cutUnread(socket: Socket): void {
  if (!connectionOf(socket).res || socket.writableLength > 0) socket.destroy();
}

/** Handles a late write: a bug in one response, which ends only that response. */
function destroy(this: ServerResponse): void {
  this.destroy();
}

/** Stops listening and, unlike `http.Server.close`, leaves idle connections open: a request may be arriving on one. */
const stopListening = (server: Server): void => {
  NetServer.prototype.close.call(server);
};
