import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  RootsListChangedNotificationSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  type CallToolResult,
  type ServerNotification,
  type ServerRequest,
} from '@modelcontextprotocol/sdk/types.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Scope } from '../scope.ts';
import { hostBackend, type HttpBackend } from './host.ts';

/** URI of the resource whose updates clients can subscribe to. */
export const WATCHED = 'session://watched';

/** An MCP server whose tools show the state of the session, and the events of its sessions. */
export interface SessionServer extends HttpBackend {
  /** Ids of the open sessions. */
  readonly open: ReadonlySet<string>;
  /** Number of sessions that were opened. */
  readonly opened: () => number;
  /** Texts of the calls that were cancelled. */
  readonly cancelled: readonly string[];
  /** Arguments of the calls of `echo`. */
  readonly echoed: readonly string[];
  /** Number of sessions whose client has announced other roots, with repetitions. */
  readonly rootChanges: () => number;
  /** Ids of the sessions whose client reads messages that belong to no call. */
  readonly listening: ReadonlySet<string>;
  /** Announces an update of the resource in every session, outside of calls. */
  touchAll(): Promise<void>;
}

const text = (value: unknown): CallToolResult => ({ content: [{ type: 'text', text: String(value) }] });

const tool = (name: string) => ({ name, inputSchema: { type: 'object' as const } });
const TOOLS = ['count', 'echo', 'ask', 'sample', 'roots', 'steps', 'log', 'touch'].map(tool);

interface Facts {
  readonly open: Set<string>;
  readonly cancelled: string[];
  readonly echoed: string[];
  opened: number;
  rootChanges: number;
  readonly listening: Set<string>;
  readonly servers: Set<Server>;
}

/** Serves it from this process until the scope ends. */
export async function startSessionServer(scope: Scope): Promise<SessionServer> {
  const facts: Facts = {
    open: new Set(),
    cancelled: [],
    echoed: [],
    opened: 0,
    rootChanges: 0,
    listening: new Set(),
    servers: new Set(),
  };
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const backend = await hostBackend(scope, '/mcp', async (req, res, body) => {
    const id = req.headers['mcp-session-id'];
    const known = typeof id === 'string' ? transports.get(id) : undefined;
    if (known && typeof id === 'string' && req.method === 'GET') {
      facts.listening.add(id);
      res.once('close', () => facts.listening.delete(id));
    }
    if (typeof id === 'string' && !known) res.writeHead(404).end();
    else await (known ?? (await newSession(facts, transports))).handleRequest(req, res, body);
  });
  return Object.assign(backend, {
    ...facts,
    opened: () => facts.opened,
    rootChanges: () => facts.rootChanges,
    touchAll: async () => {
      await Promise.all([...facts.servers].map((server) => server.sendResourceUpdated({ uri: WATCHED })));
    },
  });
}

async function newSession(facts: Facts, transports: Map<string, StreamableHTTPServerTransport>) {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => {
      facts.opened += 1;
      facts.open.add(id);
      transports.set(id, transport);
    },
    onsessionclosed: (id) => {
      facts.open.delete(id);
      transports.delete(id);
    },
  });
  const server = sessionServer(facts);
  facts.servers.add(server);
  server.onclose = () => {
    facts.servers.delete(server);
  };
  await server.connect(transport);
  return transport;
}

function sessionServer(facts: Facts): Server {
  const capabilities = { tools: {}, logging: {}, resources: { subscribe: true } };
  const server = new Server({ name: 'session-server', version: '1' }, { capabilities });
  let count = 0;
  let level: string | undefined;
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: TOOLS }));
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: [{ uri: WATCHED, name: 'watched' }] }));
  server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  server.setNotificationHandler(RootsListChangedNotificationSchema, () => {
    facts.rootChanges += 1;
  });
  server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
    level = params.level;
    return {};
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const given = params.arguments ?? {};
    switch (params.name) {
      case 'count':
        return text((count += 1));
      case 'echo':
        facts.echoed.push(String(given['text']));
        return text(given['text']);
      case 'ask': {
        const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } };
        const answer = await server.elicitInput(
          { message: 'name?', requestedSchema },
          { relatedRequestId: extra.requestId },
        );
        return text(JSON.stringify(answer));
      }
      case 'sample': {
        const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'hi' } }];
        const reply = await server.createMessage({ messages, maxTokens: 9 }, { relatedRequestId: extra.requestId });
        return text(JSON.stringify(reply.content));
      }
      case 'roots':
        return text(JSON.stringify(await server.listRoots({}, { relatedRequestId: extra.requestId })));
      case 'steps':
        return steps(facts, given, extra);
      case 'log':
        for (const each of ['debug', 'error'] as const)
          await extra.sendNotification({ method: 'notifications/message', params: { level: each, data: each } });
        return text(level);
      case 'touch':
        await server.sendResourceUpdated({ uri: WATCHED });
        return text('touched');
      default:
        throw new Error(`no tool ${params.name}`);
    }
  });
  return server;
}

/** Sends `count` progress notifications, one every `everyMs`. */
async function steps(
  { cancelled }: Facts,
  given: Readonly<Record<string, unknown>>,
  extra: RequestHandlerExtra<ServerRequest, ServerNotification>,
): Promise<CallToolResult> {
  const progressToken = extra._meta?.progressToken ?? 0;
  for (let progress = 1; progress <= Number(given['count']); progress += 1) {
    await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress } });
    await sleep(Number(given['everyMs']), undefined, { signal: extra.signal }).catch((error: unknown) => {
      cancelled.push(String(given['text']));
      throw error;
    });
  }
  return text(given['text'] ?? 'done');
}
