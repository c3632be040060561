import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Scope } from '../scope.ts';

/** Faults of a backend. */
export type Fault =
  | 'hang'
  | 'reset'
  | 'status-500'
  | 'status-404'
  | 'garbage'
  | 'html'
  | 'redirect'
  | 'wrong-id'
  | 'huge';

export interface SeenRequest {
  readonly httpMethod: string;
  /** JSON-RPC method of a POST. */
  readonly method: string | undefined;
  readonly headers: IncomingMessage['headers'];
  /** The body as received. */
  readonly body: string;
}

/** Handler of a request; a JSON body is parsed. */
export type Handle = (req: IncomingMessage, res: ServerResponse, body: unknown) => Promise<void>;

/** A running HTTP backend that a test can watch and break. */
export interface HttpBackend {
  readonly url: string;
  readonly port: number;
  readonly seen: SeenRequest[];
  /** Requests that have not been answered yet. */
  readonly running: () => number;
  /** Chooses the fault of a request; undefined is the correct answer. The JSON-RPC method is undefined for GET and DELETE. */
  fault: ((method: string | undefined) => Fault | undefined) | undefined;
  /** Delay before every answer. */
  delayMs: number;
  /** Stops listening and cuts every connection. */
  crash(): Promise<void>;
  /** Listens again on the same port. */
  recover(): Promise<void>;
}

interface HostState extends Pick<HttpBackend, 'seen' | 'fault' | 'delayMs'> {
  readonly handle: Handle;
  inFlight: number;
}

/** Serves `handle` on a free port of `host` until the scope ends. */
export async function hostBackend(
  scope: Scope,
  path: string,
  handle: Handle,
  port = 0,
  host = '127.0.0.1',
): Promise<HttpBackend> {
  const state: HostState = { seen: [], handle, inFlight: 0, fault: undefined, delayMs: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((req, res) => void answer(state, req, res));
  server.keepAliveTimeout = 60_000;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const crash = () =>
    new Promise<void>((resolve) => {
      server.close(() => {
        resolve();
      });
      for (const socket of sockets) socket.resetAndDestroy();
    });
  const chosen = await listen(server, port, host);
  scope.defer(() => (server.listening ? crash() : undefined));
  return Object.assign(state, {
    url: `http://${host}:${chosen}${path}`,
    port: chosen,
    running: () => state.inFlight,
    crash,
    recover: async () => {
      await listen(server, chosen, host);
    },
  });
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

async function answer(state: HostState, req: IncomingMessage, res: ServerResponse): Promise<void> {
  state.inFlight += 1;
  res.once('close', () => (state.inFlight -= 1));
  try {
    const bytes = await buffer(req);
    const body = parse(bytes);
    const method = methodOf(body);
    state.seen.push({ httpMethod: req.method ?? '', method, headers: req.headers, body: bytes.toString('utf8') });
    if (state.delayMs > 0) await sleep(state.delayMs);
    const fault = state.fault?.(method);
    if (fault === undefined) await state.handle(req, res, body);
    else misbehave(fault, req, res, body);
  } catch {
    res.destroy();
  }
}

function parse(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

const member = (body: unknown, name: string): unknown =>
  typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined;

function methodOf(body: unknown): string | undefined {
  const method = member(body, 'method');
  return typeof method === 'string' ? method : undefined;
}

function misbehave(fault: Fault, req: IncomingMessage, res: ServerResponse, body: unknown): void {
  const json = (text: string) => res.writeHead(200, { 'content-type': 'application/json' }).end(text);
  switch (fault) {
    case 'hang':
      return;
    case 'reset':
      req.socket.resetAndDestroy();
      return;
    case 'status-500':
      res.writeHead(500, { 'content-type': 'text/plain' }).end('Error: boom\n    at secret-internal-file.js:1:1');
      return;
    case 'status-404':
      res.writeHead(404, { 'content-type': 'text/plain' }).end('no such session');
      return;
    case 'garbage':
      json('{"jsonrpc": "2.0", "id": 1, "result": {"tools": [');
      return;
    case 'html':
      res.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>sign in</body></html>');
      return;
    case 'redirect':
      res.writeHead(302, { location: 'http://127.0.0.1:9/elsewhere' }).end();
      return;
    case 'wrong-id':
      json(JSON.stringify({ jsonrpc: '2.0', id: `not-${String(member(body, 'id'))}`, result: {} }));
      return;
    case 'huge':
      flood(res);
  }
}

/** Sends 100 MB of one JSON string, as fast as the client reads it. */
function flood(res: ServerResponse): void {
  const piece = Buffer.alloc(1024 * 1024, 'x');
  let left = 100;
  res.writeHead(200, { 'content-type': 'application/json' });
  res.write('{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"');
  const more = () => {
    while (left > 0 && !res.destroyed) {
      left -= 1;
      if (!res.write(piece)) {
        res.once('drain', more);
        return;
      }
    }
    res.end('"}]}}');
  };
  more();
}
