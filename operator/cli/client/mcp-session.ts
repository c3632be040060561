import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResultSchema, type Progress } from '@modelcontextprotocol/sdk/types.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import { readRunning } from '../../local/state.ts';
import { VERSION } from '../version.ts';
import { BrowserLogin, type LoginPlace } from './browser-login.ts';

/** A tool as listed, with all of its members. */
export interface Tool extends JsonObject {
  readonly name: string;
}

export interface CallOptions {
  readonly timeoutMs: number;
  readonly onProgress: (progress: Progress) => void;
}

/** An MCP session with one virtual server. */
export interface McpSession {
  /** Lists the tools of all pages. */
  tools(): Promise<Tool[]>;
  /** Calls a tool and returns the result as received. */
  call(name: string, args: JsonObject, options: CallOptions): Promise<JsonObject>;
  close(): Promise<void>;
}

const LIST_TIMEOUT_MS = 60_000;
const MAX_PAGES = 1_000;

/** Opens a session with this token, or with the stored login; without either the user logs in if the server asks. */
export async function openSession(url: string, token: string | undefined, place: LoginPlace): Promise<McpSession> {
  const options = { fetch: guardedFetch(url, readRunning(place.stateDir)?.managementUrl) };
  if (token !== undefined) {
    const headers = { authorization: `Bearer ${token}` };
    return connect(new StreamableHTTPClientTransport(new URL(url), { ...options, requestInit: { headers } }));
  }
  const login = await BrowserLogin.open(url, place);
  const transport = (): StreamableHTTPClientTransport =>
    new StreamableHTTPClientTransport(new URL(url), { ...options, authProvider: login });
  const first = transport();
  try {
    return await connect(first);
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    await first.finishAuth(await login.code());
    return await connect(transport());
  } finally {
    login.close();
  }
}

async function connect(transport: StreamableHTTPClientTransport): Promise<McpSession> {
  const client = new Client({ name: 'vmcp', version: VERSION });
  await client.connect(transport);
  return {
    tools: () => listTools(client),
    call: (name, args, { timeoutMs, onProgress }) =>
      client.request({ method: 'tools/call', params: { name, arguments: args } }, ResultSchema, {
        timeout: timeoutMs,
        onprogress: onProgress,
      }),
    close: async () => {
      await transport.terminateSession().catch(() => undefined); // the session then ends by its age
      await client.close();
    },
  };
}

async function listTools(client: Client): Promise<Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await client.request({ method: 'tools/list', params }, ResultSchema, { timeout: LIST_TIMEOUT_MS });
    const listed: readonly unknown[] = Array.isArray(result['tools']) ? result['tools'] : [];
    tools.push(...listed.filter(isTool));
    const next = result['nextCursor'];
    if (typeof next !== 'string' || next === cursor) break;
    cursor = next;
  }
  return tools;
}

const isTool = (value: unknown): value is Tool => isObject(value) && typeof value['name'] === 'string';

const MAX_REDIRECTS = 3;

/**
 * Creates the fetch of an MCP client. A document or a redirect of the server leads neither to this machine, unless the server itself is
 * here, nor to the origin `management`. Redirects stay at the origin, except from http to https.
 */
export function guardedFetch(mcpUrl: string, management: string | undefined): FetchLike {
  const isHere = isLoopback(new URL(mcpUrl));
  const check = (url: URL): URL => {
    const isForbidden = isLoopback(url) && (!isHere || isSameEndpoint(url, management));
    if (!isForbidden) return url;
    throw new Error(`the server leads to ${url.host}, which is this machine: the request was not sent`);
  };
  return async (input, init) => {
    let url = check(new URL(input));
    for (let redirects = 0; ; redirects += 1) {
      const reply = await fetch(url, { ...init, redirect: 'manual' });
      const next = redirects < MAX_REDIRECTS ? redirectOf(reply, url, init?.method) : undefined;
      if (!next) return reply;
      await reply.body?.cancel();
      url = check(next);
    }
  };
}

/** Host names and addresses of this machine, as `URL` writes them. */
const LOOPBACK =
  /^(?:(?:.+\.)?localhost\.?|127\.[\d.]+|0\.0\.0\.0|\[::1?\]|\[::ffff:(?:7f[\da-f]{2}:[\da-f]+|0:0)\])$/u;

const isLoopback = ({ hostname }: URL): boolean => LOOPBACK.test(hostname);

/** Compares the ports alone: each loopback name leads to the same listener. */
const isSameEndpoint = ({ port }: URL, other: string | undefined): boolean =>
  other !== undefined && URL.parse(other)?.port === port;

/** Returns the URL of a redirect that keeps the method and the origin; undefined for other replies. */
function redirectOf({ status, headers }: Response, from: URL, method = 'GET'): URL | undefined {
  const isFollowed = method === 'GET' ? [301, 302, 303, 307, 308] : [307, 308];
  const to = URL.parse(headers.get('location') ?? '', from.href);
  if (!isFollowed.includes(status) || to?.hostname !== from.hostname) return undefined;
  return to.origin === from.origin || (from.protocol === 'http:' && to.protocol === 'https:') ? to : undefined;
}
