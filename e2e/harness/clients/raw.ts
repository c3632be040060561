import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';

export interface RawRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Sent in chunks without a Content-Length. */
  readonly chunked?: boolean;
  readonly timeoutMs?: number;
}

export interface RawResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends one HTTP request without the restrictions of `fetch`, which rejects a foreign Host or a GET with a body. */
export function raw(url: string, { method = 'GET', headers = {}, body, chunked, timeoutMs = 20_000 }: RawRequest = {}) {
  return new Promise<RawResponse>((resolve, reject) => {
    const length = body !== undefined && !chunked && { 'content-length': String(Buffer.byteLength(body)) };
    const request = url.startsWith('https:') ? httpsRequest : httpRequest;
    const sent = request(url, { method, headers: { ...length, ...headers }, agent: false });
    const timer = setTimeout(() => sent.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    sent.once('close', () => {
      clearTimeout(timer);
    });
    sent.once('error', reject);
    sent.once('response', (response) => {
      const { statusCode: status = 0, headers: received } = response;
      text(response).then((all) => resolve({ status, headers: received, body: all }), reject);
    });
    sent.end(body);
  });
}

/** Headers of every POST of an MCP client. */
export const MCP_HEADERS = {
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
} as const;

export const REVISION = '2025-11-25';

export interface RpcReply {
  readonly status: number;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
  /** JSON text of the message with the result or error. */
  readonly text: string;
}

/** Returns the last JSON-RPC message of a reply, which may be JSON or an event stream. */
export function rpcReply({ status, headers, body }: RawResponse): RpcReply {
  const isStream = headers['content-type']?.startsWith('text/event-stream') === true;
  const json = isStream
    ? body
        .split(/\r?\n/)
        .findLast((line) => line.startsWith('data:') && line.length > 6)
        ?.slice(5)
    : body;
  const { result, error } = JSON.parse(json ?? '') as Pick<RpcReply, 'result' | 'error'>;
  return { status, text: json ?? '', ...(result && { result }), ...(error && { error }) };
}

export const rpc = (method: string, params?: unknown, id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, ...(params !== undefined && { params }) });

export const initializeRequest = (protocolVersion = REVISION, capabilities: unknown = {}): string =>
  rpc('initialize', { protocolVersion, capabilities, clientInfo: { name: 'e2e-raw', version: '1.0.0' } }, 0);

/** A session without a client library, for requests that no library sends. */
export interface RawSession {
  readonly id: string;
  /** Headers of a POST in this session. */
  readonly headers: Readonly<Record<string, string>>;
  readonly initialized: RpcReply;
  /** Sends `body` as it is. */
  post(body: string, more?: RawRequest): Promise<RawResponse>;
  request(method: string, params?: unknown, more?: RawRequest): Promise<RpcReply>;
  /** Returns the names of all tools, in the order of the list. */
  tools(): Promise<string[]>;
  call(name: string, args?: Readonly<Record<string, unknown>>, more?: RawRequest): Promise<RpcReply>;
  end(): Promise<RawResponse>;
}

/** Opens a session; every request carries the `extra` headers. @throws Error when `initialize` returns no session */
export async function openSession(
  url: string,
  protocolVersion = REVISION,
  extra: Readonly<Record<string, string>> = {},
): Promise<RawSession> {
  const opening = { ...MCP_HEADERS, ...extra };
  const answer = await raw(url, { method: 'POST', headers: opening, body: initializeRequest(protocolVersion) });
  const id = answer.headers['mcp-session-id'];
  if (typeof id !== 'string') throw new Error(`initialize gave no session: HTTP ${answer.status} ${answer.body}`);
  const headers = { ...opening, 'mcp-session-id': id, 'mcp-protocol-version': protocolVersion };
  let lastId = 1;
  const post: RawSession['post'] = (body, more) =>
    raw(url, { method: 'POST', body, ...more, headers: { ...headers, ...more?.headers } });
  const request: RawSession['request'] = async (method, params, more) =>
    rpcReply(await post(rpc(method, params, (lastId += 1)), more));
  await post(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
  return {
    id,
    headers,
    initialized: rpcReply(answer),
    post,
    request,
    tools: () => toolNames(request),
    call: (name, args = {}, more) => request('tools/call', { name, arguments: args }, more),
    end: () => raw(url, { method: 'DELETE', headers }),
  };
}

async function toolNames(request: RawSession['request']): Promise<string[]> {
  const names: string[] = [];
  let cursor: unknown;
  do {
    const { result, error } = await request('tools/list', cursor === undefined ? {} : { cursor });
    if (result === undefined) throw new Error(`tools/list: ${JSON.stringify(error)}`);
    names.push(...(result['tools'] as { name: string }[]).map(({ name }) => name));
    cursor = result['nextCursor'];
  } while (cursor !== undefined);
  return names;
}

/** Returns the text of the first content item of a result. */
export function textOf({ result, error }: RpcReply): string {
  const content = result?.['content'];
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  const text = typeof first === 'object' && first !== null && 'text' in first ? first.text : undefined;
  return typeof text === 'string' ? text : JSON.stringify(error ?? result);
}
