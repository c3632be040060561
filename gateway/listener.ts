import { createServer, type RequestListener, type Server } from 'node:http';
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
  /** Takes no new connections; answers that start from now on close theirs. */
  refuseConnections(): void;
  /** Cuts what is left. */
  close(): Promise<void>;
}

const MAX_HEADER_BYTES = 64 * 1024;

/** Listens with the gateway's limits. Rejects with `ListenError`. */
export async function listen(app: RequestListener, host: string, port: number): Promise<Listener> {
  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 30_000, headersTimeout: 30_000, keepAliveTimeout: 120_000 },
    app,
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      reject(new ListenError(host, port, error));
    });
    server.listen({ host, port, backlog: 1024 }, resolve);
  });
  const address = server.address();
  return {
    host,
    port: typeof address === 'object' && address ? address.port : port,
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

/** Unlike `http.Server.close`, this leaves idle connections open: a request may be on its way on one of them. */
const stopListening = (server: Server): void => {
  NetServer.prototype.close.call(server);
};
