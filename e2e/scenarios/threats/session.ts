import {
  initializeRequest,
  MCP_HEADERS,
  raw,
  REVISION,
  rpc,
  rpcReply,
  type RawRequest,
  type RawResponse,
  type RpcReply,
} from '../../harness/clients/raw.ts';

/** A session that belongs to the user of a token. */
export interface OwnedSession {
  readonly id: string;
  post(body: string, more?: RawRequest): Promise<RawResponse>;
  call(tool: string, args?: Readonly<Record<string, unknown>>, more?: RawRequest): Promise<RpcReply>;
  /** Returns the same session with another token. */
  withToken(token: string): OwnedSession;
}

/** Opens a session. @throws Error when `initialize` returns no session */
export async function openAs(url: string, token: string): Promise<OwnedSession> {
  const headers = { ...MCP_HEADERS, authorization: `Bearer ${token}` };
  const answer = await raw(url, { method: 'POST', headers, body: initializeRequest() });
  const id = answer.headers['mcp-session-id'];
  if (typeof id !== 'string')
    throw new Error(`initialize gave no session: HTTP ${String(answer.status)} ${answer.body}`);
  const session = sessionOf(url, id, token);
  await session.post('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  return session;
}

function sessionOf(url: string, id: string, token: string): OwnedSession {
  const headers = {
    ...MCP_HEADERS,
    authorization: `Bearer ${token}`,
    'mcp-session-id': id,
    'mcp-protocol-version': REVISION,
  };
  const post: OwnedSession['post'] = (body, more) =>
    raw(url, { method: 'POST', body, ...more, headers: { ...headers, ...more?.headers } });
  return {
    id,
    post,
    call: async (tool, args = {}, more) =>
      rpcReply(await post(rpc('tools/call', { name: tool, arguments: args }), more)),
    withToken: (other) => sessionOf(url, id, other),
  };
}
