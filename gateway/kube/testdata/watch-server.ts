import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Connection } from '../connection.ts';
import type { KubeObject } from '../resource.ts';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Answer = (request: SeenRequest, response: ServerResponse) => void;

/** A reply with this status and `Status` object. */
export const refuse =
  (code: number, reason: string, headers: Record<string, string> = {}): Answer =>
  (_request, response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ kind: 'Status', status: 'Failure', code, reason, message: `refused: ${reason}` }));
  };

/** A watch that a reflector has open. */
export interface OpenWatch {
  readonly query: URLSearchParams;
  send(type: string, object: unknown): void;
  raw(text: string): void;
  end(): void;
  /** Cuts the connection. */
  reset(): void;
}

/**
 * Serves lists and watches of ConfigMaps at every path, as an API server does. Tests can make it misbehave.
 */
export class WatchServer implements AsyncDisposable {
  readonly requests: SeenRequest[] = [];
  /** Answers that replace the correct ones, for the next lists and the next watches. */
  readonly nextLists: Answer[] = [];
  readonly nextWatches: Answer[] = [];
  watches: OpenWatch[] = [];
  pageSize = 500;
  readonly #objects = new Map<string, KubeObject>();
  readonly #server = createServer((request, response) => void this.#take(request, response));
  #version = 100;

  async listen(): Promise<Connection> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return {
      baseUrl: `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`,
      namespace: 'default',
      tls: () => ({}),
      authorization: () => Promise.resolve(undefined),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  lists = (): SeenRequest[] => this.requests.filter(({ query }) => !query.has('watch'));

  /** Changes an object, and sends the change to all watches unless it is `quiet`. */
  put(name: string, data: Record<string, string> = {}, { quiet = false } = {}): KubeObject {
    this.#version += 1;
    const known = this.#objects.has(name);
    const object = this.#object(name, data);
    this.#objects.set(name, object);
    if (!quiet) for (const watch of this.watches) watch.send(known ? 'MODIFIED' : 'ADDED', object);
    return object;
  }

  remove(name: string, { quiet = false } = {}): void {
    this.#version += 1;
    this.#objects.delete(name);
    if (!quiet) for (const watch of this.watches) watch.send('DELETED', this.#object(name, {}));
  }

  bookmark(): void {
    this.#version += 1;
    const metadata = { resourceVersion: String(this.#version) };
    for (const watch of this.watches) watch.send('BOOKMARK', { apiVersion: 'v1', kind: 'ConfigMap', metadata });
  }

  get version(): string {
    return String(this.#version);
  }

  #object(name: string, data: Record<string, string>): KubeObject {
    const metadata = {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      resourceVersion: String(this.#version),
      managedFields: [{ manager: 'test' }],
    };
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://api');
    const body = Buffer.concat(await request.toArray()).toString('utf8');
    const { method = '', headers } = request;
    const seen = { method, path: pathname, query: searchParams, headers, body };
    this.requests.push(seen);
    const isWatch = searchParams.has('watch');
    const answer = (isWatch ? this.nextWatches : this.nextLists).shift();
    if (answer) answer(seen, response);
    else if (isWatch) this.#watch(searchParams, response);
    else this.#list(searchParams, response);
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const from = Number(query.get('continue') ?? 0);
    const to = query.has('limit') ? from + this.pageSize : Infinity;
    // Items of a list do not say what they are.
    const items = [...this.#objects.values()].slice(from, to).map(({ metadata, data }) => ({ metadata, data }));
    const metadata = {
      resourceVersion: this.version,
      ...(to < this.#objects.size && { continue: String(to) }),
    };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ kind: 'ConfigMapList', apiVersion: 'v1', metadata, items }));
  }

  #watch(query: URLSearchParams, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const watch: OpenWatch = {
      query,
      send: (type, object) => response.write(`${JSON.stringify({ type, object })}\n`),
      raw: (text) => response.write(text),
      end: () => response.end(),
      reset: () => response.socket?.resetAndDestroy(),
    };
    this.watches.push(watch);
    response.on('close', () => {
      this.watches = this.watches.filter((each) => each !== watch);
    });
  }
}
