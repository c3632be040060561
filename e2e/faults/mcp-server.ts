import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { hostBackend, type HttpBackend } from '../harness/backends/host.ts';
import type { Scope } from '../harness/scope.ts';

export type Members = Readonly<Record<string, unknown>>;

/** A parsed JSON-RPC message. */
export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Members;
  readonly result?: Members;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** One POST of the gateway, with functions that answer it. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly message: Message;
  /** `Mcp-Session-Id` of the request. */
  readonly session: string | undefined;
  /** Sends the result, in a stream if a message was sent before. */
  result(value: unknown): void;
  error(code: number, message: string, data?: unknown): void;
  /** Sends a message before the reply, which makes the reply a stream; with `eventId` the stream can be resumed. */
  send(message: Members, eventId?: string): void;
  /** Sends a request to the client during the call; resolves to its response. */
  ask(method: string, params?: Members): Promise<Message>;
}

export interface ServerOptions {
  /** Default: `{tools: {listChanged: true}}`. */
  readonly capabilities?: Members;
  /** False disables sessions. */
  readonly sessions?: boolean;
  /** HTTP status of the answer to GET; an event stream by default. */
  readonly getStatus?: number;
  /** Handlers of further methods; they may answer later. */
  readonly methods?: Readonly<Record<string, (exchange: Exchange) => void>>;
}

/** An MCP server on node:http; a test can replace each of its answers. */
export interface McpServer extends Omit<HttpBackend, 'fault' | 'delayMs'> {
  /** Handles a POST before the server; returns true when it has handled it. */
  intercept: ((exchange: Exchange) => boolean) | undefined;
  /** Handles a GET before the server; returns true when it has handled it. */
  interceptGet: ((req: IncomingMessage, res: ServerResponse) => boolean) | undefined;
  /** Names of its tools. */
  tools: string[];
  readonly sessions: Set<string>;
  /** GET streams by session. */
  readonly streams: ReadonlyMap<string, ServerResponse>;
  /** Returns the number of requests with a method. */
  count(method: string): number;
  /** Received notifications and responses. */
  readonly received: readonly { readonly session: string | undefined; readonly message: Message }[];
  /** Sends a notification on every GET stream, or on that of one session. */
  notify(method: string, params?: Members, session?: string): void;
}

export const eventText = (message: Members, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;

export const jsonHead = (res: ServerResponse): ServerResponse =>
  res.writeHead(200, { 'content-type': 'application/json' });

/** Serves on a free loopback port until the scope ends. Tools answer `<tool> <text>`. */
export async function startMcpServer(scope: Scope, name: string, options: ServerOptions = {}): Promise<McpServer> {
  const state = new State(name, options);
  const host = await hostBackend(scope, '/mcp', (req, res, body) => {
    state.handle(req, res, body as Message | undefined);
    return Promise.resolve();
  });
  const { url, port, seen, running, recover } = host;
  return Object.assign(state, {
    url,
    port,
    seen,
    running,
    recover,
    crash: () => {
      state.sessions.clear();
      return host.crash();
    },
    count: (method: string) => host.seen.filter((request) => request.method === method).length,
  });
}

class State {
  intercept: McpServer['intercept'];
  interceptGet: McpServer['interceptGet'];
  tools = ['tool'];
  readonly sessions = new Set<string>();
  readonly streams = new Map<string, ServerResponse>();
  readonly received: { session: string | undefined; message: Message }[] = [];
  readonly #name: string;
  readonly #options: ServerOptions;
  readonly #asked = new Map<string, (response: Message) => void>();

  constructor(name: string, options: ServerOptions) {
    this.#name = name;
    this.#options = options;
  }

  notify(method: string, params?: Members, session?: string): void {
    for (const [id, stream] of this.streams) {
      if (session === undefined || session === id) stream.write(eventText(params ? { method, params } : { method }));
    }
  }

  handle(req: IncomingMessage, res: ServerResponse, message: Message | undefined): void {
    const header = req.headers['mcp-session-id'];
    const session = typeof header === 'string' ? header : undefined;
    if (req.method === 'POST' && this.intercept?.(this.#exchange(req, res, message ?? {}, session)) === true) return;
    if (req.method === 'GET' && this.interceptGet?.(req, res) === true) return;
    const isKnown = session === undefined || this.sessions.has(session);
    if (!isKnown) res.writeHead(404, { 'content-type': 'text/plain' }).end('unknown session');
    else if (req.method === 'GET' && this.#options.getStatus) res.writeHead(this.#options.getStatus).end();
    else if (req.method === 'GET') this.#listen(res, session ?? 'all');
    else if (req.method === 'DELETE') {
      this.sessions.delete(session ?? '');
      this.streams.get(session ?? '')?.end();
      res.writeHead(204).end();
    } else if (message?.id === undefined || message.method === undefined) {
      this.received.push({ session, message: message ?? {} });
      this.#asked.get(String(message?.id))?.(message ?? {});
      res.writeHead(202).end();
    } else this.#answer(this.#exchange(req, res, message, session));
  }

  #listen(res: ServerResponse, session: string): void {
    this.streams.set(session, res);
    res.once('close', () => this.streams.get(session) === res && this.streams.delete(session));
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  }

  #answer(exchange: Exchange): void {
    const { message, res } = exchange;
    const custom = this.#options.methods?.[message.method ?? ''];
    if (custom) custom(exchange);
    else if (message.method === 'initialize') {
      if (this.#options.sessions !== false) {
        const id = randomUUID();
        this.sessions.add(id);
        res.setHeader('mcp-session-id', id);
      }
      const capabilities = this.#options.capabilities ?? { tools: { listChanged: true } };
      const { protocolVersion } = message.params ?? {};
      exchange.result({ protocolVersion, capabilities, serverInfo: { name: this.#name, version: '1.0.0' } });
    } else if (message.method === 'tools/list')
      exchange.result({ tools: this.tools.map((name) => ({ name, inputSchema: { type: 'object' } })) });
    else if (message.method === 'tools/call') exchange.result(echoOf(message));
    else if (message.method === 'ping') exchange.result({});
    else exchange.error(-32601, 'Method not found');
  }

  #exchange(req: IncomingMessage, res: ServerResponse, message: Message, session: string | undefined): Exchange {
    const { id } = message;
    const send: Exchange['send'] = (sent, eventId) => {
      if (!res.headersSent) res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(eventText(sent, eventId));
    };
    const finish = (outcome: Members): void => {
      if (res.headersSent) res.end(eventText({ id, ...outcome }));
      else jsonHead(res).end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }));
    };
    return {
      req,
      res,
      message,
      session,
      send,
      result: (result) => {
        finish({ result });
      },
      error: (code, text, data) => {
        finish({ error: { code, message: text, ...(data !== undefined && { data }) } });
      },
      ask: (method, params) => {
        const asked = randomUUID();
        send({ id: asked, method, ...(params && { params }) });
        return new Promise((resolve) => this.#asked.set(asked, resolve));
      },
    };
  }
}

/** Returns the default result of a call. */
export const echoOf = ({ params }: Message): Members => ({
  content: [{ type: 'text', text: `${String(params?.['name'])} ${argumentOf(params, 'text')}` }],
});

export function argumentOf(params: Members | undefined, name: string): string {
  const { arguments: args } = params ?? {};
  const value = typeof args === 'object' && args !== null ? (args as Members)[name] : undefined;
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}
