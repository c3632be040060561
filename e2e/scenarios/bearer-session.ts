import { MCP_HEADERS, initializeRequest, raw, REVISION, rpc, type RawResponse } from '../harness/clients/raw.ts';

/** A session with one bearer token, without a client library: tests see the raw answers. */
export interface BearerSession {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  post(method: string, params?: unknown, headers?: Readonly<Record<string, string>>): Promise<RawResponse>;
  call(tool: string, args?: Readonly<Record<string, unknown>>): Promise<RawResponse>;
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Opens a session. @throws Error when `initialize` returns no session */
export async function openBearerSession(url: string, token: string): Promise<BearerSession> {
  const opening = { ...MCP_HEADERS, ...bearer(token) };
  const answer = await raw(url, { method: 'POST', headers: opening, body: initializeRequest() });
  const id = answer.headers['mcp-session-id'];
  if (typeof id !== 'string')
    throw new Error(`initialize gave no session: HTTP ${String(answer.status)} ${answer.body}`);
  const headers = { ...opening, 'mcp-session-id': id, 'mcp-protocol-version': REVISION };
  let lastId = 1;
  const post: BearerSession['post'] = (method, params, more) =>
    raw(url, { method: 'POST', headers: { ...headers, ...more }, body: rpc(method, params, (lastId += 1)) });
  await raw(url, { method: 'POST', headers, body: '{"jsonrpc":"2.0","method":"notifications/initialized"}' });
  return { id, headers, post, call: (name, args = {}) => post('tools/call', { name, arguments: args }) };
}
