import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import type { Scope } from './scope.ts';

export type EndpointName = 'discovery' | 'jwks' | 'introspection' | 'token';

export interface EndpointRequest {
  readonly endpoint: EndpointName;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly form: URLSearchParams;
}

export interface EndpointReply {
  /** 200 by default. */
  readonly status?: number;
  readonly json?: unknown;
  /** Sent in place of `json`. */
  readonly body?: string | Buffer;
  /** `content-type` is `application/json` by default. */
  readonly headers?: Readonly<Record<string, string>>;
}

type Answer = (request: EndpointRequest) => EndpointReply | Promise<EndpointReply>;

export interface Endpoint {
  readonly name: EndpointName;
  readonly answer: Answer;
}

/** Faults of an endpoint. */
export type Misbehaviour =
  | 'hang' // never answers
  | 'drip' // one byte a second
  | 'reset'
  | 'status-401'
  | 'status-500'
  | 'status-404'
  | 'html'
  | 'garbage' // half a JSON document
  | 'empty'
  | 'huge' // 2 MB of valid JSON
  | 'redirect'; // to `redirectTo`, or to the same place

/** Faults by endpoint; a function replaces the answer. An endpoint without one answers correctly. */
export type Behaviours = Partial<Record<EndpointName, Misbehaviour | Answer>>;

export interface EndpointsState {
  behave: Behaviours;
  /** Delay before every answer. */
  delayMs: number;
  redirectTo: string | undefined;
  /** Every request, in the order of arrival. */
  readonly seen: EndpointRequest[];
}

/** A server of endpoints that a test can crash. */
export interface Endpoints {
  readonly port: number;
  /** Stops listening and cuts every connection. */
  crash(): Promise<void>;
  /** Listens again on the same port. */
  recover(): Promise<void>;
}

type Routes = Readonly<Record<string, Endpoint>>;

/** Serves these paths on a loopback port until the scope ends. Reads `state` at every request. */
export async function serveEndpoints(
  scope: Scope,
  routes: Routes,
  state: EndpointsState,
  port?: number,
): Promise<Endpoints> {
  const sockets = new Set<Socket>();
  const server = createServer((req, res) => void serve(routes, state, req, res));
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // Outside of the range of outgoing connections, so that the port stays free while the server is down.
  const chosen = await listen(server, port ?? (await freePort()));
  const crash = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.resetAndDestroy();
    });
  scope.defer(() => (server.listening ? crash() : undefined));
  return { port: chosen, crash, recover: () => listen(server, chosen).then(() => undefined) };
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

async function serve(routes: Routes, state: EndpointsState, req: IncomingMessage, res: ServerResponse): Promise<void> {
  try {
    const endpoint = routes[new URL(req.url ?? '/', 'http://x').pathname];
    const body = await text(req);
    if (!endpoint) {
      send(res, { status: 404, json: { error: 'not_found' } });
      return;
    }
    const request: EndpointRequest = {
      endpoint: endpoint.name,
      method: req.method ?? '',
      headers: req.headers,
      form: new URLSearchParams(body),
    };
    state.seen.push(request);
    if (state.delayMs > 0) await sleep(state.delayMs);
    const behaviour = state.behave[endpoint.name] ?? endpoint.answer;
    if (typeof behaviour === 'function') send(res, await behaviour(request));
    else misbehave(behaviour, state.redirectTo ?? req.url ?? '/', res);
  } catch {
    res.destroy();
  }
}

function send(res: ServerResponse, { status = 200, json, body, headers }: EndpointReply): void {
  res.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers });
  res.end(body ?? JSON.stringify(json ?? {}));
}

function misbehave(how: Misbehaviour, location: string, res: ServerResponse): void {
  switch (how) {
    case 'hang':
      return;
    case 'drip':
      drip(res);
      return;
    case 'reset':
      res.destroy();
      return;
    case 'status-401':
    case 'status-404':
    case 'status-500':
      send(res, {
        status: Number(how.slice(7)),
        json: { error: 'server_error', error_description: 'INTERNAL-DETAIL' },
      });
      return;
    case 'html':
      send(res, { body: '<html><body>sign in</body></html>', headers: { 'content-type': 'text/html' } });
      return;
    case 'garbage':
      send(res, { body: '{"keys": [{"kty": "RSA", "active": tr' });
      return;
    case 'empty':
      send(res, { body: '' });
      return;
    case 'huge':
      send(res, { json: { active: true, keys: [], padding: 'x'.repeat(2 * 1024 * 1024) } });
      return;
    case 'redirect':
      send(res, { status: 302, headers: { location } });
  }
}

function drip(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'application/json' });
  res.write('{');
  const timer = setInterval(() => res.write(' '), 1_000);
  res.once('close', () => {
    clearInterval(timer);
  });
}
