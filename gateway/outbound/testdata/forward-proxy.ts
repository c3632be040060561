import { createServer, request, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { readProxies, setProxies } from '../proxy/proxies.ts';
import { onEnd } from './servers.ts';

export interface ForwardProxyOptions {
  /** Value of `Proxy-Authorization` without which every request is answered 407. */
  readonly authorization?: string;
  /** Status of every answer. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly tls?: TlsOptions;
  /** Takes the place of the answer to CONNECT. */
  readonly onConnect?: (socket: Socket) => void;
}

export interface ForwardProxy {
  readonly port: number;
  /** `METHOD target` of each request, as received. */
  readonly requests: string[];
  readonly heads: IncomingMessage['headers'][];
  close(): Promise<void>;
}

/** Starts a forward proxy that ends with the test. It resolves every name to 127.0.0.1: only it knows the names of the tests. */
export async function forwardProxy(options: ForwardProxyOptions = {}): Promise<ForwardProxy> {
  const requests: string[] = [];
  const heads: IncomingMessage['headers'][] = [];
  const refusal = (message: IncomingMessage): number | undefined => {
    requests.push(`${message.method ?? ''} ${message.url ?? ''}`);
    heads.push(message.headers);
    const { authorization, status } = options;
    if (authorization !== undefined && message.headers['proxy-authorization'] !== authorization) return 407;
    return status;
  };
  const onRequest: RequestListener = (req, res) => {
    const status = refusal(req);
    if (status !== undefined) {
      res.writeHead(status, { 'content-type': 'text/html', ...options.headers }).end('<html>proxy</html>');
      return;
    }
    const { pathname, search, port } = new URL(req.url ?? '');
    const { 'proxy-authorization': _, ...headers } = req.headers;
    const to = { host: '127.0.0.1', port: port || 80, path: pathname + search, method: req.method, headers };
    const forwarded = request(to, (reply) => {
      res.writeHead(reply.statusCode ?? 0, reply.headers);
      reply.pipe(res);
    });
    forwarded.on('error', () => res.destroy());
    res.on('close', () => forwarded.destroy());
    req.pipe(forwarded);
  };
  const server: Server = options.tls ? createTlsServer(options.tls, onRequest) : createServer(onRequest);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)));
  server.on('tlsClientError', () => undefined);
  server.on('connect', (req: IncomingMessage, socket: Socket) => {
    const status = refusal(req);
    socket.on('error', () => undefined);
    if (options.onConnect) options.onConnect(socket);
    else if (status !== undefined) socket.end(`HTTP/1.1 ${String(status)} No\r\ncontent-length: 2\r\n\r\nno`);
    else {
      const remote = connect(Number(/\d+$/u.exec(req.url ?? '')?.[0]), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        remote.pipe(socket).pipe(remote);
      });
      remote.on('error', () => socket.destroy());
      sockets.add(remote);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => void server.close(() => resolve()));
  };
  onEnd(close);
  return { port: (server.address() as AddressInfo).port, requests, heads, close };
}

/** Sets the proxies of this process until the end of the test. */
export function withProxies(env: Readonly<Record<string, string>>): void {
  setProxies(readProxies(env));
  onEnd(() => {
    setProxies(undefined);
  });
}
