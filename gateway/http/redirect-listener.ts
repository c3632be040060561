import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const PATH = '/callback';

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  connection: 'close',
};

const page = (text: string): string =>
  `<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>vmcp</title><p>${text}</p>\n`;

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
  const server = createServer();
  let port: number | undefined;
  for (const candidate of ports) port ??= await listen(server, candidate);
  if (port === undefined) throw new Error('no free loopback port: close programs that hold many sockets');
  return {
    port,
    redirectUri: `http://127.0.0.1:${String(port)}${PATH}`,
    receive: (state, timeoutMs) => receive(server, state, { timeoutMs, next }),
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
  state: string,
  { timeoutMs, next }: { readonly timeoutMs: number; readonly next: string },
): Promise<URLSearchParams | undefined> =>
  new Promise((resolve) => {
    const late = setTimeout(resolve, timeoutMs, undefined).unref();
    server.once('close', () => {
      clearTimeout(late);
      resolve(undefined);
    });
    server.on('request', (req, res) => {
      const url = URL.parse(req.url ?? '', 'http://127.0.0.1');
      if (req.method !== 'GET' || url?.pathname !== PATH || url.searchParams.get('state') !== state) {
        res.writeHead(400, HEADERS).end(page('This is not the login that vmcp waits for.'));
        return;
      }
      const text = url.searchParams.has('code') ? 'You are logged in.' : 'The login failed.';
      res.writeHead(200, HEADERS).end(page(`${text} ${next}`));
      resolve(url.searchParams);
    });
  });
