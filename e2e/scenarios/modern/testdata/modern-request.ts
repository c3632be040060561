import { openExchange, type Received } from '../../../faults/event-stream.ts';
import { MCP_HEADERS, raw, rpc, rpcReply, type RpcReply } from '../../../harness/clients/raw.ts';

export const REVISION = '2026-07-28';

export interface Sender {
  /** Capabilities of the client. */
  readonly capabilities?: object;
  /** For example `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Returns the parts of a request: `params._meta` may have further members. */
export function messageOf(
  method: string,
  params: Readonly<Record<string, unknown>>,
  { capabilities = {}, headers }: Sender,
) {
  const _meta = {
    ...(params['_meta'] as object | undefined),
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const name = method === 'tools/call' ? params['name'] : method === 'resources/read' ? params['uri'] : undefined;
  const named = typeof name === 'string' ? { 'mcp-name': name } : undefined;
  return {
    method: 'POST' as const,
    headers: { ...MCP_HEADERS, 'mcp-protocol-version': REVISION, 'mcp-method': method, ...named, ...headers },
    body: rpc(method, { ...params, _meta }),
  };
}

/** Sends a request without a session, with the headers and `_meta` of the revision. */
export const send = async (
  url: string,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  sender: Sender = {},
): Promise<RpcReply> => rpcReply(await raw(url, messageOf(method, params, sender)));

/** Opens a stream with `subscriptions/listen`. */
export const listen = (url: string, notifications: object): Promise<Received> =>
  openExchange(url, messageOf('subscriptions/listen', { notifications }, {}));
