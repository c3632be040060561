import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { answerWith } from './fetch.ts';
import { fixtureV1 } from './fixture-v1.ts';
import { fixtureV2 } from './fixture-v2.ts';
import { hostBackend, type Handle, type HttpBackend } from './host.ts';
import { pagedServer } from './paged.ts';
import type { Scope } from '../scope.ts';

/** A kind of HTTP server: creates the handler of its requests. */
export interface HttpKind {
  readonly transport: 'streamable-http' | 'sse';
  readonly path: string;
  create(name: string): Handle;
}

/** The SDK's classes declare optional members in a way that `exactOptionalPropertyTypes` does not accept. */
const connect = (server: McpServer | Server, transport: unknown): Promise<void> =>
  server.connect(transport as Transport);

const refuse = (res: ServerResponse, status: number): void => void res.writeHead(status).end();

function stateful(makeServer: (name: string) => McpServer | Server): HttpKind['create'] {
  return (name) => {
    const transports = new Map<string, StreamableHTTPServerTransport>();
    return async (req, res, body) => {
      const id = req.headers['mcp-session-id'];
      const known = typeof id === 'string' ? transports.get(id) : undefined;
      if (typeof id === 'string' && known === undefined) {
        refuse(res, 404);
        return;
      }
      const transport = known ?? newSession(transports);
      if (known === undefined) await connect(makeServer(name), transport);
      await transport.handleRequest(req, res, body);
    };
  };
}

function newSession(transports: Map<string, StreamableHTTPServerTransport>): StreamableHTTPServerTransport {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void transports.set(id, transport),
    onsessionclosed: (id) => void transports.delete(id),
  });
  return transport;
}

const stateless: HttpKind['create'] = (name) => async (req, res, body) => {
  if (req.method !== 'POST') {
    refuse(res, 405);
    return;
  }
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  await connect(fixtureV1(name), transport);
  res.once('close', () => void transport.close());
  await transport.handleRequest(req, res, body);
};

const sse: HttpKind['create'] = (name) => {
  const transports = new Map<string, SSEServerTransport>();
  return async (req, res, body) => {
    const url = new URL(req.url ?? '/', 'http://localhost');
    if (req.method === 'GET' && url.pathname === '/sse') {
      const transport = new SSEServerTransport('/messages', res);
      transports.set(transport.sessionId, transport);
      res.once('close', () => transports.delete(transport.sessionId));
      await connect(fixtureV1(name), transport);
      return;
    }
    const transport = transports.get(url.searchParams.get('sessionId') ?? '');
    if (transport === undefined) refuse(res, 404);
    else await transport.handlePostMessage(req, res, body);
  };
};

/** SDK 2.x: 2026-07-28, and the older revisions without sessions. */
const v2: HttpKind['create'] = (name) => {
  const { fetch } = createMcpHandler(() => fixtureV2(name));
  return (req, res, body) => answerWith(fetch, req, res, body);
};

/** HTTP servers by kind. */
export const HTTP_KINDS = {
  'sdk-1-stateful': { transport: 'streamable-http', path: '/mcp', create: stateful(fixtureV1) },
  'sdk-1-stateless': { transport: 'streamable-http', path: '/mcp', create: stateless },
  'sdk-1-sse': { transport: 'sse', path: '/sse', create: sse },
  'sdk-1-paged': { transport: 'streamable-http', path: '/mcp', create: stateful(pagedServer) },
  'sdk-2': { transport: 'streamable-http', path: '/mcp', create: v2 },
} as const satisfies Record<string, HttpKind>;

export type HttpKindName = keyof typeof HTTP_KINDS;

/** Serves a fixture from this process until the scope ends. */
export function startHttpBackend(scope: Scope, kind: HttpKindName, name: string, port = 0): Promise<HttpBackend> {
  const { path, create } = HTTP_KINDS[kind];
  return hostBackend(scope, path, create(name), port);
}
