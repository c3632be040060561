import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { decodeJwt } from 'jose';
import type { Scope } from '../scope.ts';

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly name?: string };
}

/** A received request; `what` is its MCP or HTTP method. */
export interface Seen {
  readonly what: string;
  readonly authorization: string | undefined;
}

/** An MCP server whose tools depend on the `sub` of the bearer token. */
export interface PersonalBackend {
  readonly url: string;
  readonly seen: Seen[];
  /** Chooses the tokens that get 401. */
  refuses: (authorization: string | undefined) => boolean;
  /** Adds a tool for a subject and notifies its sessions. */
  addTool(subject: string, tool: string): void;
}

/** Starts the server. Requests without a token or with a refused token get 401. */
export async function startPersonalBackend(scope: Scope): Promise<PersonalBackend> {
  const seen: Seen[] = [];
  const extra = new Map<string, string[]>();
  const streams = new Map<string, Set<ServerResponse>>();
  const backend = { seen, refuses: (authorization: string | undefined) => authorization === undefined };

  const subjectOf = (req: IncomingMessage): string =>
    decodeJwt((req.headers.authorization ?? '').replace(/^Bearer /, '')).sub ?? '';
  const toolsOf = (subject: string): string[] => ['whoami', `of-${subject}`, ...(extra.get(subject) ?? [])];

  const result = (message: Message, subject: string): unknown => {
    switch (message.method) {
      case 'initialize':
        return {
          protocolVersion: '2025-11-25',
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'personal', version: '1' },
        };
      case 'tools/list':
        return { tools: toolsOf(subject).map((name) => ({ name, inputSchema: { type: 'object' } })) };
      case 'tools/call':
        return { content: [{ type: 'text', text: `${message.params?.name ?? ''} for ${subject}` }] };
      default:
        return {};
    }
  };

  const listen = (req: IncomingMessage, res: ServerResponse): void => {
    const subject = subjectOf(req);
    const open = streams.get(subject) ?? new Set();
    streams.set(subject, open.add(res));
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    res.once('close', () => open.delete(res));
  };

  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const message = req.method === 'POST' ? ((await json(req)) as Message) : {};
    const { authorization } = req.headers;
    seen.push({ what: message.method ?? req.method ?? '', authorization });
    if (backend.refuses(authorization)) res.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    else if (req.method === 'GET') listen(req, res);
    else if (req.method === 'DELETE') res.writeHead(200).end();
    else if (message.id === undefined) res.writeHead(202).end();
    else {
      res.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': `s-${String(seen.length)}` });
      res.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: result(message, subjectOf(req)) }));
    }
  };

  const server = createServer((req, res) => void answer(req, res));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(backend, {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/mcp`,
    addTool: (subject: string, tool: string) => {
      extra.set(subject, [...(extra.get(subject) ?? []), tool]);
      for (const res of streams.get(subject) ?? [])
        res.write('event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n');
    },
  });
}
