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
  /** Resolves with the parameters of the first redirect that has this `state`; other requests get 400. */
  receive(state: string): Promise<URLSearchParams>;
  close(): void;
}

/** Listens on the earlier port, for which the client is registered, or on any other one. */
export async function openRedirectListener(earlierPort: number | undefined): Promise<RedirectListener> {
  const server = createServer();
  const port = (earlierPort !== undefined && (await listen(server, earlierPort))) || (await listen(server, 0));
  if (port === undefined) throw new Error('no free loopback port: close programs that hold many sockets');
  return {
    port,
    redirectUri: `http://127.0.0.1:${String(port)}${PATH}`,
    receive: (state) => receive(server, state),
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

const receive = (server: Server, state: string): Promise<URLSearchParams> =>
  new Promise((resolve) => {
    server.on('request', (req, res) => {
      const url = URL.parse(req.url ?? '', 'http://127.0.0.1');
      if (req.method !== 'GET' || url?.pathname !== PATH || url.searchParams.get('state') !== state) {
        res.writeHead(400, HEADERS).end(page('This is not the login that vmcp waits for.'));
        return;
      }
      const text = url.searchParams.has('code') ? 'You are logged in.' : 'The login failed.';
      res.writeHead(200, HEADERS).end(page(`${text} Close this page and return to the terminal.`));
      resolve(url.searchParams);
    });
  });
