import { resolve } from 'node:path';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { OAuthError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { readRunning, type Running, type RunningServer, defaultStateDir } from '../../local/state.ts';
import { openBrowser } from './browser.ts';
import { type LoginPlace, LoginFailed } from './browser-login.ts';
import { openSession, type McpSession } from './mcp-session.ts';
import { printable } from '../../../gateway/contract/text/printable.ts';
import { ProxyError } from '../../../gateway/outbound/proxy/proxy-error.ts';
import { EXIT } from '../exit.ts';

export interface SessionFlags extends EndpointFlags {
  readonly state?: string;
  readonly token?: string;
  readonly clientId?: string;
}

/** Opens a session and returns the exit code of `use`; after one sentence 1 when there is no session, or 2 when the options choose none. */
export async function withSession(
  flags: SessionFlags,
  use: (session: McpSession, managementUrl: string | undefined) => Promise<number>,
): Promise<number> {
  const stateDir = resolve(flags.state ?? defaultStateDir(process.env));
  const running = readRunning(stateDir);
  const endpoint = chooseEndpoint(flags, running, stateDir);
  if ('problem' in endpoint) {
    process.stderr.write(`${endpoint.problem}\n`);
    return running ? EXIT.invalid : EXIT.failed;
  }
  const { mcpUrl, managementUrl } = endpoint;
  let session: McpSession | undefined;
  try {
    session = await openSession(mcpUrl, flags.token ?? process.env['VMCP_TOKEN'], loginPlace(stateDir, flags.clientId));
    return await use(session, managementUrl);
  } catch (error) {
    process.stderr.write(`${failureSentence(error, mcpUrl)}\n`);
    return EXIT.failed;
  } finally {
    await session?.close();
  }
}

const loginPlace = (stateDir: string, clientId: string | undefined): LoginPlace => ({
  stateDir,
  clientId,
  isInteractive: process.stderr.isTTY || process.env['BROWSER'] !== undefined,
  show: (url) => {
    process.stderr.write(`log in at ${url.href}\n`);
    openBrowser(url, process.env);
  },
});

/** Options that choose a virtual server. */
export interface EndpointFlags {
  readonly url?: string;
  /** Name or namespace/name of a virtual server of the running gateway. */
  readonly name?: string;
}

/** A virtual server to connect to, or a sentence for the user. */
export type Endpoint =
  | { readonly mcpUrl: string; readonly managementUrl: string | undefined }
  | { readonly problem: string };

/** Chooses the virtual server: that of `--url`, else one of the gateway that runs with the state folder. */
export function chooseEndpoint({ url, name }: EndpointFlags, running: Running | undefined, stateDir: string): Endpoint {
  if (url !== undefined) return { mcpUrl: url, managementUrl: undefined };
  if (!running) {
    return {
      problem: `no gateway runs with the state folder ${stateDir}: start one with vmcp up, or name one with --url`,
    };
  }
  const { servers, managementUrl } = running;
  const matches = servers.filter((server) => name === undefined || isNamed(server, name));
  const [match, ...more] = matches;
  const names = servers.map(fullName).join(', ');
  if (match && more.length === 0) return { mcpUrl: match.mcpUrl, managementUrl };
  if (name === undefined)
    return { problem: `the gateway runs several virtual servers: choose one with --name (${names})` };
  return match
    ? { problem: `"${name}" exists in several namespaces: choose one with --name (${names})` }
    : { problem: `there is no virtual server "${name}": choose one of ${names}` };
}

const fullName = ({ namespace, name }: RunningServer): string => `${namespace}/${name}`;

const isNamed = (server: RunningServer, name: string): boolean => server.name === name || fullName(server) === name;

const REQUEST_TIMEOUT: number = ErrorCode.RequestTimeout;

/** A kind of failure with its sentence; undefined for an error of another kind. */
type Sentence = (error: unknown, url: string) => string | undefined;

const sentenceOf =
  <E extends Error>(
    kind: abstract new (...args: never[]) => E,
    sentence: (error: E, url: string) => string | undefined,
  ): Sentence =>
  (error, url) =>
    error instanceof kind ? sentence(error, url) : undefined;

/** Sentences for failures of an MCP session: the first that fits is printed. They quote no token. */
const SENTENCES: readonly Sentence[] = [
  sentenceOf(LoginFailed, ({ message }) => message),
  sentenceOf(UnauthorizedError, () => 'the login has expired: run the command again'),
  sentenceOf(OAuthError, ({ message }) => `the authorization server refused the login: ${printable(message)}`),
  sentenceOf(McpError, mcpSentence),
  sentenceOf(StreamableHTTPError, ({ code = 0 }, url) => httpSentence(code, url)),
  sentenceOf(TypeError, ({ cause }, url) => (cause instanceof Error ? networkSentence(cause, url) : undefined)),
  sentenceOf(Error, ({ message }, url) => `no MCP session with ${url}: ${printable(message.split('\n')[0] ?? '')}`),
];

function failureSentence(error: unknown, url: string): string {
  for (const sentence of SENTENCES) {
    const text = sentence(error, url);
    if (text !== undefined) return text;
  }
  return `no MCP session with ${url}: unknown error`;
}

function mcpSentence({ code, message }: McpError): string {
  if (code === REQUEST_TIMEOUT) return 'there was no answer in time: pass a longer --timeout';
  return printable(message.replace(/^MCP error -?\d+: /u, ''));
}

function httpSentence(status: number, url: string): string {
  if (status === 401) return `${url} rejects the token: pass another one in VMCP_TOKEN, or none to log in`;
  if (status === 403) return `${url} refuses this user or token (HTTP 403)`;
  if (status < 400) return `${url} is not an MCP endpoint: correct the URL`;
  return `${url} answers with HTTP ${String(status)}: check the URL, and the log of the gateway`;
}

/** Returns the sentence for the cause of a failed `fetch`: of the proxy, or with its system code. */
function networkSentence(cause: Error, url: string): string {
  if (cause instanceof ProxyError) return `${url} is not reached: ${cause.message}`;
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
  return `nothing answers at ${url} (${code}): start the gateway with vmcp up, or correct the URL`;
}
