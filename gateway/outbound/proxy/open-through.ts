import type { Socket } from 'node:net';
import { buildConnector, Client } from 'undici';
import { isForbiddenListener } from '../own-listeners.ts';
import { ProxyError, refusingProxy, unreachableProxy } from './proxy-error.ts';
import type { Proxy, ProxyTarget } from './proxies.ts';

/** Returns `host:port` of a target, as CONNECT names it. RFC 9110 §9.3.6 */
export function authorityOf({ protocol, hostname, port }: ProxyTarget): string {
  const host = hostname.replace(/^\[|\]$/gu, '');
  return `${host.includes(':') ? `[${host}]` : host}:${port || (protocol === 'http:' ? '80' : '443')}`;
}

/**
 * Opens a connection to a target through a proxy: for https a tunnel, in which TLS is still to begin, for http a connection to the
 * proxy itself, which takes requests in absolute form. The signal ends the attempt. @throws ProxyError
 */
export async function openThrough(proxy: Proxy, target: ProxyTarget, signal: AbortSignal): Promise<Socket> {
  const authority = authorityOf(target);
  try {
    return await (target.protocol === 'http:' ? connection : tunnel)(proxy, authority, signal);
  } catch (error) {
    if (!signal.aborted || error instanceof ProxyError) throw unreachableProxy(proxy, error);
    throw new ProxyError('timeout', `the proxy ${proxy.place} opens no connection to ${authority} in time`);
  }
}

function connection(proxy: Proxy, _: string, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  connectTo(proxy, signal, (error, socket) => {
    if (socket) resolve(socket);
    else reject(error);
  });
  return promise;
}

async function tunnel(proxy: Proxy, authority: string, signal: AbortSignal): Promise<Socket> {
  const { protocol, place, authorization } = proxy;
  const client = new Client(`${protocol}//${place}`, {
    connect: (_, callback) => {
      connectTo(proxy, signal, callback);
    },
  });
  try {
    const { statusCode, socket } = await client.connect({
      path: authority,
      headers: { host: authority, ...(authorization !== undefined && { 'proxy-authorization': authorization }) },
      signal,
    });
    if (statusCode >= 200 && statusCode < 300) return socket as Socket;
    socket.on('error', () => undefined).destroy();
    throw refusingProxy(proxy, authority, statusCode);
  } finally {
    void client.destroy();
  }
}

/** Time to connect to the proxy itself, which is near. */
const CONNECT_MS = 4_000;

/** Connects to the proxy, with TLS where its URL says so. Its certificate is verified with the roots of Node.js. */
function connectTo(proxy: Proxy, signal: AbortSignal, callback: buildConnector.Callback): void {
  const { hostname, protocol, port, place, variable } = proxy;
  const connect = buildConnector({ timeout: CONNECT_MS, allowH2: false, minVersion: 'TLSv1.2' });
  let settle: buildConnector.Callback | undefined = callback;
  const finish: buildConnector.Callback = (...outcome) => {
    signal.removeEventListener('abort', late);
    settle?.(...outcome);
    settle = undefined;
  };
  const late = (): void => {
    finish(Object.assign(new Error('the attempt has ended'), { code: 'ETIMEDOUT' }), null);
  };
  signal.addEventListener('abort', late, { once: true });
  connect({ hostname, host: place, protocol, port: String(port) }, (error, socket) => {
    if (!socket) finish(error, null);
    else if (settle === undefined) socket.destroy();
    else if (!isForbiddenListener(socket, false)) finish(null, socket);
    else {
      socket.destroy();
      finish(new ProxyError('refused', `the proxy ${place} is vmcp itself: correct ${variable}`), null);
    }
  });
}
