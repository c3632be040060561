import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net';
import { joinUnreadPieces } from '../../http/body/unread-pieces.ts';
import { isOwnOrigin, isSameOriginRequest } from '../../http/origin-guard.ts';
import { classifyHost } from '../../outbound/address-class.ts';
import { answer, forward } from './forward.ts';
import { join } from './relay/join.ts';
import { ConnectionLimitError } from './relay/sockets.ts';

export interface IngressOptions {
  /** Connects to the server. */
  readonly connect: () => Promise<Socket>;
  /** Allowed host names of the Host header, beside loopback names. */
  readonly hosts?: readonly string[] | undefined;
}

/**
 * Creates the HTTP listener in front of an isolated server. It refuses other values of Host, as after DNS rebinding, and requests
 * that other pages cause, except links to pages of the server.
 */
export function createIngress({ connect, hosts }: IngressOptions): Server {
  const server = createServer((request, response) => {
    joinUnreadPieces(request);
    if (!isAllowedHost(request.headers.host ?? '', hosts)) {
      answer(response, 403, 'the Host header is not allowed: add it to permission_profile.network.inbound');
    } else if (isOfOtherPage(request)) {
      answer(
        response,
        403,
        'pages of other origins may not call this server: connect to the MCP endpoint of the workload',
      );
    } else void serve(request, response, connect);
  });
  server.requestTimeout = 0; // an upload may take long
  return server;
}

/** Returns true for a Host header with a loopback name, by which the gateway connects, or with one of `hosts`. Pure. */
export function isAllowedHost(header: string, hosts: readonly string[] = []): boolean {
  const url = URL.parse(`http://${header}`);
  if (url === null || /[/?#@\\]/u.test(header)) return false;
  const { hostname } = url;
  if (classifyHost(hostname) === 'loopback') return true;
  return hosts.some((host) => {
    const wanted = host.toLowerCase();
    return wanted.startsWith('.')
      ? hostname === wanted.slice(1) || hostname.endsWith(wanted)
      : hostname === wanted || hostname === `[${wanted}]`;
  });
}

const NO_NAMES = { names: new Set<string>() };

/** Returns true if a page of another origin, also that of another port, causes the request, unless it is a link. Pure. */
export function isOfOtherPage(request: IncomingMessage): boolean {
  const { method, headers } = request;
  if (headers.origin !== undefined) return !isSameOriginRequest(headers) || !isOwnOrigin(request, NO_NAMES);
  return !isSameOriginRequest(headers) && !(method === 'GET' && headers['sec-fetch-mode'] === 'navigate');
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  connect: () => Promise<Socket>,
): Promise<void> {
  try {
    forward(request, response, await connect(), { path: request.url ?? '/' });
  } catch (error) {
    if (error instanceof ConnectionLimitError) answer(response, 503, error.message);
    else answer(response, 502, 'the server does not listen on its port');
  }
}

/** Creates the listener of a published port. It forwards bytes. */
export const createPublisher = (connect: () => Promise<Socket>): TcpServer =>
  createTcpServer({ allowHalfOpen: true }, (client) => {
    client.on('error', () => undefined);
    void connect().then(
      (server) => {
        join(client, server);
      },
      () => client.destroy(),
    );
  });
