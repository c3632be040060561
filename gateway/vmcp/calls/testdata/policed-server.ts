import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { PassThrough } from 'node:stream';
import { onTestFinished } from 'vitest';
import { createPublicApp } from '../../../app.ts';
import type { GatewayConfig } from '../../../contract/gateway-config.ts';
import { publicPathsOf } from '../../../contract/paths/public-paths.ts';
import { VMCP } from '../../../contract/testdata/vmcp-config.ts';
import { createBoundary } from '../../../incoming/boundary.ts';
import { listen } from '../../../listener.ts';
import type { Policy } from '../../../policy/policy.ts';
import type { EndedCall } from '../../../telemetry/call-observer.ts';
import { createLog } from '../../../telemetry/log.ts';
import { RefusalLog } from '../../../telemetry/refusal-log.ts';
import { createBudgets } from '../../budgets/account.ts';
import { META, MODERN_REVISION } from '../../../contract/protocol/revisions.ts';
import { createTransports } from '../../transport/index.ts';
import { VirtualServer } from '../../virtual-server.ts';

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly [member: string]: unknown };
}

const CAPABILITIES = { tools: {}, prompts: {}, resources: { subscribe: true }, completions: {} };

const RESULTS: Readonly<Record<string, object>> = {
  initialize: { protocolVersion: '2025-06-18', capabilities: CAPABILITIES, serverInfo: { name: 'shop', version: '1' } },
  'tools/list': { tools: ['buy', 'fail', 'long'].map((name) => ({ name, inputSchema: { type: 'object' } })) },
  'prompts/list': { prompts: [{ name: 'greet' }] },
  'resources/list': { resources: [{ uri: 'shop:///stock', name: 'stock' }] },
  'resources/templates/list': { resourceTemplates: [] },
};

/** Replies of the backend by method: each has a `result` or an `error`. */
type Replies = Readonly<Record<string, object>>;

function replyTo({ id, method = '', params }: Message, replies: Replies): object {
  if (replies[method]) return { id, ...replies[method] };
  if (params?.name === 'fail') return { id, result: { content: [], isError: true } };
  if (params?.name === 'long') return { id, result: { content: [{ type: 'text', text: 'x'.repeat(5_000) }] } };
  if (method === 'prompts/get') return { id, error: { code: -32602, message: 'no' } };
  return { id, result: RESULTS[method] ?? { content: [] } };
}

/** Starts a backend that records the methods and the `params` it receives. */
async function startBackend(received: string[], bodies: string[], replies: Replies): Promise<string> {
  const onPost = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const body = await text(req);
    bodies.push(body);
    const message = JSON.parse(body) as Message;
    received.push(message.method ?? '');
    if (message.id === undefined) {
      res.writeHead(202).end();
      return;
    }
    res.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' });
    res.end(JSON.stringify({ jsonrpc: '2.0', ...replyTo(message, replies) }));
  };
  const server = createServer((req, res) => {
    if (req.method === 'POST') void onPost(req, res);
    else res.writeHead(405).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/mcp`;
}

const configOf = (url: string): GatewayConfig => ({
  schema_version: 'v0.1.0',
  name: 'front',
  vmcp: {
    ...VMCP,
    backends: [
      { name: 'shop', transport: 'streamable-http', url, insecure_allow_http: true, allow_private_ips: true },
    ],
  },
});

export interface ObservedCall {
  readonly client: string;
  readonly principal: string;
  readonly call: string;
  readonly backend: string;
  readonly outcome: string;
  readonly isSent: boolean;
}

const observed = ({ session, method, name, backend, outcome, isSent }: EndedCall): ObservedCall => ({
  client: `${session.client.name} ${session.client.version}`,
  principal: session.principal,
  call: `${method} ${name}`,
  backend,
  outcome,
  isSent,
});

/** Starts a virtual server with one backend and these policies, and opens a session. */
export const policedServer = (...policies: Policy[]) => serverWith({}, policies);

/** Starts a virtual server whose backend gives these replies, and opens a session. */
export async function serverWith(replies: Replies, policies: readonly Policy[] = []) {
  const received: string[] = [];
  /** JSON text of each message that the backend received. */
  const bodies: string[] = [];
  const ended: ObservedCall[] = [];
  const config = configOf(await startBackend(received, bodies, replies));
  const log = createLog(new PassThrough().resume(), 'error');
  const boundary = { current: createBoundary({ log, now: Date.now }) };
  const refusals = new RefusalLog(log);
  let ids = 0;
  const virtual = new VirtualServer(config, {
    log,
    refusals,
    now: Date.now,
    random: Math.random,
    newId: () => `session-${String((ids += 1))}`,
    createTransport: createTransports({ log, version: '0', launcher: undefined, now: Date.now }),
    createAuthenticator: () => undefined,
    createPolicies: () => policies,
    metrics: { ended: (call) => ended.push(observed(call)) },
    rulesOf: () => '',
    budgets: createBudgets(),
    onOverBudget: () => undefined,
    onForeignSession: () => undefined,
    boundary,
  });
  const origins = { current: { allowedHosts: undefined, allowedOrigins: new Set<string>() } };
  const options = { log, origins, requestIdPrefix: '', refusals };
  const paths = { current: publicPathsOf(config) };
  const gate = { boundary, authServer: {}, clientUrl: () => undefined, paths, audit: { current: undefined } };
  const app = createPublicApp(virtual, { maxBodyBytes: 2_000_000, version: '0' }, gate, options);
  const listener = await listen(app, '127.0.0.1', 0);
  onTestFinished(async () => {
    await virtual.close();
    await listener.close();
  });
  const url = `http://127.0.0.1:${String(listener.port)}/mcp`;
  /** `params` as an object or as JSON text. */
  const send = (method: string, params: object | string, signal?: AbortSignal): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(method === 'initialize' ? {} : { 'mcp-session-id': 'session-1' }),
      },
      body: `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${typeof params === 'string' ? params : JSON.stringify(params)}}`,
      ...(signal && { signal }),
    });
  /** Sends a request of the revision without sessions. */
  const sendModern = (method: string, params: { readonly name: string }): Promise<Response> => {
    const meta = { [META.version]: MODERN_REVISION, [META.client]: { name: 'shell', version: '2' }, [META.capabilities]: {} };
    return fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': MODERN_REVISION,
        'mcp-method': method,
        'mcp-name': params.name,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
    });
  };
  await send('initialize', { protocolVersion: '2025-11-25', clientInfo: { name: 'shell', version: '2' } });
  const read = async (method: string, params: object = {}): Promise<unknown> => (await send(method, params)).json();
  return { virtual, send, sendModern, read, received, bodies, ended, url };
}
