import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { OAuthError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { printable } from '../../../gateway/contract/text/printable.ts';
import { ProxyError } from '../../../gateway/outbound/proxy/proxy-error.ts';
import { LoginFailed } from './browser-login.ts';

const REQUEST_TIMEOUT: number = ErrorCode.RequestTimeout;

/** Returns one sentence for a failure of an MCP session. It quotes no token. */
export function failureSentence(error: unknown, url: string): string {
  if (error instanceof LoginFailed) return error.message;
  if (error instanceof UnauthorizedError) return 'the login has expired: run the command again';
  if (error instanceof OAuthError) return `the authorization server refused the login: ${printable(error.message)}`;
  if (error instanceof McpError) return mcpSentence(error);
  if (error instanceof StreamableHTTPError) return httpSentence(error.code ?? 0, url);
  if (error instanceof TypeError && error.cause instanceof ProxyError)
    return `${url} is not reached: ${error.cause.message}`;
  const code = networkCode(error);
  if (code !== undefined)
    return `nothing answers at ${url} (${code}): start the gateway with vmcp up, or correct the URL`;
  const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'unknown error';
  return `no MCP session with ${url}: ${printable(reason)}`;
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

/** Returns the system code of a failed `fetch`. */
function networkCode(error: unknown): string | undefined {
  if (!(error instanceof TypeError) || !(error.cause instanceof Error)) return undefined;
  const { cause } = error;
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
}
