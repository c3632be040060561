import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';

/** The address could not be listened on. */
export class ListenError extends Error {
  readonly port: number;
  constructor(host: string, port: number, cause: NodeJS.ErrnoException) {
    const what =
      cause.code === 'EADDRINUSE'
        ? 'is in use: stop what listens there or choose another port'
        : `cannot be used (${cause.code ?? cause.message})`;
    super(`port ${String(port)} on ${host} ${what}`, { cause });
    this.name = 'ListenError';
    this.port = port;
  }
}

export interface Listener {
  readonly host: string;
  readonly port: number;
  /** Bound address and port, such as `0.0.0.0:4483` or `[::1]:4483`. */
  readonly address: string;
  /** Requests whose answers have not left yet; a GET, which may be a stream without an end, is not counted. */
  readonly unanswered: () => number;
  /** Takes no new connections; answers that start from now on close theirs. */
  refuseConnections(): void;
  /** Cuts what is left. */
  close(): Promise<void>;
}

export interface ListenerLimits {
  /** Connections beyond are closed at once. */
  readonly maxConnections?: number;
  readonly onRefused?: () => void;
  readonly unreadMs?: number;
}

/** Unless a listener is for MCP clients: for scrapes, probes and people. */
const MOST_CONNECTIONS = 256;
const MAX_HEADER_BYTES = 64 * 1024;
/** A client that takes nothing of what waits for it for so long is cut off. */
const UNREAD_MS = 30_000;

/** Listens with the gateway's limits. Rejects with `ListenError`. */
export async function listen(
  app: RequestListener,
  host: string,
  port: number,
  { maxConnections = MOST_CONNECTIONS, unreadMs = UNREAD_MS, onRefused }: ListenerLimits = {},
): Promise<Listener> {
  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 30_000, headersTimeout: 30_000, keepAliveTimeout: 120_000 },
    (req, res) => {
      res.on('timeout', cutUnread).on('error', destroy);
      app(req, res);
    },
  );
  server.timeout = unreadMs;
  server.maxConnections = maxConnections;
  if (onRefused) server.on('drop', onRefused);
  const unanswered = countUnanswered(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      reject(new ListenError(host, port, error));
    });
    server.listen({ host, port, backlog: 1024 }, resolve);
  });
  const bound = server.address();
  const { address: ip, port: boundPort } = typeof bound === 'object' && bound ? bound : { address: host, port };
  return {
    host,
    port: boundPort,
    address: `${ip.includes(':') ? `[${ip}]` : ip}:${String(boundPort)}`,
    unanswered,
    refuseConnections: () => {
      server.prependListener('request', (_req, res) => {
        res.shouldKeepAlive = false;
      });
      stopListening(server);
    },
    close: () =>
      new Promise((resolve) => {
        if (server.listening) stopListening(server);
        server.closeAllConnections();
        resolve();
      }),
  };
}

function countUnanswered(server: Server): () => number {
  let unanswered = 0;
  const answered = (): void => {
    unanswered -= 1;
  };
  server.prependListener('request', (req, res) => {
    if (req.method === 'GET') return;
    unanswered += 1;
    res.on('close', answered);
  });
  return () => unanswered;
}

/** The connection was still for a while: with nothing to send that is a slow call or a stream, and no fault. */
function cutUnread(this: ServerResponse): void {
  if (this.writableLength > 0) this.destroy();
}

/** A write that comes too late is a fault of ours in one answer, and ends that one. */
function destroy(this: ServerResponse): void {
  this.destroy();
}

/** Unlike `http.Server.close`, this leaves idle connections open: a request may be on its way on one of them. */
const stopListening = (server: Server): void => {
  NetServer.prototype.close.call(server);
};
