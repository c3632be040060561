import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer as createTcpServer, type AddressInfo, type LookupFunction, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsSocketServer, type TlsOptions } from 'node:tls';
import { testScope } from '../../../e2e/harness/scope.ts';

/** Runs at the end of the test, the last one first. */
export const onEnd = (cleanup: () => unknown): void => {
  testScope().defer(cleanup);
};

export interface TestServer {
  readonly port: number;
  /** Connections that were made so far. */
  connections(): number;
  close(): Promise<void>;
}

interface ServeOptions {
  readonly tls?: TlsOptions;
  readonly host?: string;
  readonly port?: number;
  readonly onServer?: (server: Server) => void;
}

/** Path of a bundle with an authority, until the end of the test. */
export function trusted({ cert }: { readonly cert: string }): string {
  const dir = mkdtempSync(join(tmpdir(), 'vmcp-trusted-'));
  onEnd(() => rmSync(dir, { recursive: true }));
  const path = join(dir, 'ca.crt');
  writeFileSync(path, cert);
  return path;
}

/** A server that ends with the test. */
export async function serve(
  onRequest: RequestListener,
  { tls, host = '127.0.0.1', port = 0, onServer }: ServeOptions = {},
): Promise<TestServer> {
  const server: Server = tls ? createTlsServer(tls, onRequest) : createServer(onRequest);
  onServer?.(server);
  let connections = 0;
  server.on('connection', () => (connections += 1));
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  const close = (): Promise<void> => {
    server.closeAllConnections();
    return new Promise((resolve) => void server.close(() => resolve()));
  };
  onEnd(close);
  return { port: (server.address() as AddressInfo).port, connections: () => connections, close };
}

/** HOST:PORT of a server that does with connections what it likes, and ends with the test. */
export async function serveRaw(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

/** Starts TLS in front of a port of this machine, and returns its port. */
export async function serveTlsInFront(port: number, pair: TlsOptions): Promise<number> {
  const server = createTlsSocketServer(pair, (socket) => {
    const inner = connect(port, '127.0.0.1');
    socket.on('error', () => inner.destroy()).pipe(inner);
    inner.on('error', () => socket.destroy()).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** A resolver that gives these addresses for every name, one list per look-up, the last one for ever. */
export function resolver(...answers: readonly (readonly string[])[]): LookupFunction & { readonly asked: string[] } {
  const asked: string[] = [];
  const lookup: LookupFunction = (hostname, _options, callback) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(hostname);
    setImmediate(() => {
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    });
  };
  return Object.assign(lookup, { asked });
}
