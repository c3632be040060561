import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ClientConnections, headTimes } from './connections/client-connections.ts';
import { recordListener } from '../outbound/own-listeners.ts';

const PATH = '/callback';
/** Most connections: a browser uses a few, any program of this machine can open more. */
const MOST_CONNECTIONS = 64;

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  connection: 'close',
};

const page = (text: string): string =>
  `<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>vmcp</title><p>${text}</p>\n`;

/** Callbacks for the parameters of the redirects with a `state`. */
type Waiting = Map<string, (parameters: URLSearchParams) => void>;

/** Loopback listener for the redirect at the end of a login (RFC 8252 §7.3). */
export interface RedirectListener {
  readonly port: number;
  readonly redirectUri: string;
  /**
   * Resolves with the parameters of the first redirect that has this `state`, or with undefined after `timeoutMs` or when
   * the listener closes. Other requests get 400.
   */
  receive(state: string, timeoutMs: number): Promise<URLSearchParams | undefined>;
  /** Lets the process end while it listens. */
  unref(): void;
  close(): void;
}

/**
 * Listens on the first of these ports that is free; port 0 means any free port. `next` tells the user what to do after the login.
 * Rejects when no port is free.
 */
export async function openRedirectListener(ports: readonly number[], next: string): Promise<RedirectListener> {
  const waiting: Waiting = new Map();
  const server = createServer(headTimes());
  new ClientConnections(server, answer(waiting, next), { most: MOST_CONNECTIONS });
  let port: number | undefined;
  for (const candidate of ports) port ??= await listen(server, candidate);
  recordListener(server, 'internal');
  if (port === undefined) throw new Error('no free loopback port: close programs that hold many sockets');
  return {
    port,
    redirectUri: `http://127.0.0.1:${String(port)}${PATH}`,
    receive: (state, timeoutMs) => receive(server, waiting, state, timeoutMs),
    unref: () => server.unref(),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Returns the bound port; undefined when the port is in use. */
function listen(server: Server, port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const onError = (): void => {
      resolve(undefined);
    };
    server.once('error', onError);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', onError);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

const receive = (
  server: Server,
  waiting: Waiting,
  state: string,
  timeoutMs: number,
): Promise<URLSearchParams | undefined> =>
  new Promise((resolve) => {
    const late = setTimeout(resolve, timeoutMs, undefined).unref();
    server.once('close', () => {
      clearTimeout(late);
      resolve(undefined);
    });
    waiting.set(state, resolve);
  });

const FOREIGN =
  'This is not the login that vmcp waits for: it has ended, or it belongs to another program. Close this page and start the login again.';

/** Returns the outcome of a login, with the error code of the provider if it sent an error. @see RFC 6749 §4.1.2.1 */
function outcomeOf(parameters: URLSearchParams): string {
  if (parameters.has('code')) return 'You are logged in.';
  const error = parameters.get('error') ?? '';
  return `The login failed${/^[a-z_]{1,40}$/u.test(error) ? ` (${error})` : ''}. Start it again where you began it.`;
}

const answer =
  (waiting: Waiting, next: string) =>
  (req: IncomingMessage, res: ServerResponse): void => {
    const url = URL.parse(req.url ?? '', 'http://127.0.0.1');
    const redirected = waiting.get(url?.searchParams.get('state') ?? '');
    if (req.method !== 'GET' || url?.pathname !== PATH || !redirected) {
      res.writeHead(400, HEADERS).end(page(FOREIGN));
      return;
    }
    res.writeHead(200, HEADERS).end(page(`${outcomeOf(url.searchParams)} ${next}`));
    redirected(url.searchParams);
  };
