import { Agent, request } from 'undici';

export const PROTOCOL_VERSION = '2025-11-25';

/** Headers of every MCP POST. */
export const MCP_HEADERS = {
  Accept: 'application/json, text/event-stream',
  'Content-Type': 'application/json',
  'MCP-Protocol-Version': PROTOCOL_VERSION,
} as const;

export interface Reply {
  readonly status: number;
  readonly session: string | undefined;
  /** Returns the JSON-RPC message as text, from JSON or from an event stream. */
  readonly message: string;
}

const dispatcher = new Agent({ keepAliveTimeout: 60_000, headersTimeout: 60_000, bodyTimeout: 60_000 });

function messageOf(payload: string, contentType: string): string {
  if (!contentType.startsWith('text/event-stream')) return payload;
  const data = payload.split('\n').filter((line) => line.startsWith('data:'));
  return data.at(-1)?.slice('data:'.length).trim() ?? '';
}

/** Returns the headers of a POST in this session with this bearer token, if they are defined. */
export const mcpHeaders = (session?: string, token?: string): Record<string, string> => ({
  ...MCP_HEADERS,
  ...(session !== undefined && { 'Mcp-Session-Id': session }),
  ...(token !== undefined && { Authorization: `Bearer ${token}` }),
});

/** POSTs one JSON-RPC message. */
export async function post(url: string, body: string, session?: string, token?: string): Promise<Reply> {
  const headers = mcpHeaders(session, token);
  const reply = await request(url, { method: 'POST', headers, body, dispatcher });
  const payload = await reply.body.text();
  const given = reply.headers['mcp-session-id'];
  return {
    status: reply.statusCode,
    session: typeof given === 'string' ? given : undefined,
    message: messageOf(payload, String(reply.headers['content-type'] ?? '')),
  };
}

/** Sends a request and returns its result. @throws Error with status and message for any other answer */
export async function rpc(
  url: string,
  method: string,
  params: object,
  session?: string,
  token?: string,
): Promise<unknown> {
  const reply = await post(url, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), session, token);
  const message = reply.status === 200 ? (JSON.parse(reply.message) as { result?: unknown }) : {};
  if (message.result === undefined) {
    throw new Error(`${method} on ${url} answered ${String(reply.status)}: ${reply.message.slice(0, 300)}`);
  }
  return message.result;
}

/** Runs the handshake and returns the session id; undefined when the server keeps no sessions. */
export async function openSession(url: string, token?: string): Promise<string | undefined> {
  const reply = await post(url, INITIALIZE, undefined, token);
  if (reply.status !== 200 || !reply.message.includes('"result"')) {
    throw new Error(`initialize on ${url} answered ${String(reply.status)}: ${reply.message.slice(0, 300)}`);
  }
  const initialized = await post(url, INITIALIZED, reply.session, token);
  if (initialized.status !== 202) {
    throw new Error(`notifications/initialized on ${url} answered ${String(initialized.status)}`);
  }
  return reply.session;
}

export async function closeSession(url: string, session: string): Promise<number> {
  const headers = { 'Mcp-Session-Id': session, 'MCP-Protocol-Version': PROTOCOL_VERSION };
  const reply = await request(url, { method: 'DELETE', headers, dispatcher });
  await reply.body.dump();
  return reply.statusCode;
}

/** Returns the names of the tools, in the order of the list. */
export async function toolNames(url: string, session?: string, token?: string): Promise<string[]> {
  const { tools } = (await rpc(url, 'tools/list', {}, session, token)) as { tools: { name: string }[] };
  return tools.map(({ name }) => name);
}

/** Calls a tool and returns the answer of a benchmark backend: `<backend> <tool> <text>`. */
export async function callTool(
  url: string,
  name: string,
  text: string,
  session?: string,
  token?: string,
): Promise<string> {
  const result = await rpc(url, 'tools/call', { name, arguments: { text } }, session, token);
  return (result as { content?: { text?: string }[] }).content?.[0]?.text ?? '';
}

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo: { name: 'bench', version: '1.0.0' } },
});
const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
