import type { LookupFunction, Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { OutboundError } from '../outbound-error.ts';
import { isForbiddenListener } from '../own-listeners.ts';
import { authorityOf, openThrough } from './open-through.ts';
import { ProxyError } from './proxy-error.ts';
import type { Proxy } from './proxies.ts';
import { resolvable } from './resolvable.ts';
import { limited } from '../../kit/time.ts';

export interface ThroughProxy {
  readonly target: buildConnector.Options;
  /** Starts TLS in the tunnel. */
  readonly connect: buildConnector.connector;
  /** Limit of the whole attempt. */
  readonly timeoutMs: number;
  /** Fails with `OutboundError` for an address that is not allowed. */
  readonly lookup: LookupFunction;
  /** True for a target that the configuration names, false for a target that a document names. */
  readonly isConfigured: boolean;
}

/** Limit of every attempt, below that of a probe, so that the reason of a backend can name the proxy. */
const LONGEST_MS = 8_000;

/**
 * Connects through a proxy. The addresses that the name has here must be allowed. A name that cannot be resolved here is for the proxy
 * to decide; but if that proxy runs on this machine, no document may lead to a listener of this process. @throws OutboundError
 */
export async function connectThrough(proxy: Proxy, options: ThroughProxy): Promise<Socket> {
  const { target, timeoutMs, lookup, isConfigured } = options;
  const remotePort = Number(target.port) || (target.protocol === 'https:' ? 443 : 80);
  const check = (remoteAddress: string | undefined): void => {
    if (isForbiddenListener({ remoteAddress, remotePort }, isConfigured)) throw ownFault(target);
  };
  return limited(Math.min(timeoutMs, LONGEST_MS), async (signal) => {
    let socket: Socket | undefined;
    try {
      const addresses = await resolvable(target.hostname, lookup, (error) => error instanceof OutboundError);
      addresses?.forEach(check);
      socket = await openThrough(proxy, target, signal);
      if (addresses === undefined && !isConfigured) check(socket.remoteAddress);
      return target.protocol === 'https:' ? await secured(socket, proxy, options, signal) : socket;
    } catch (error) {
      socket?.destroy();
      throw error;
    }
  });
}

/** Error for a connection that would lead to a listener of this process. */
export const ownFault = ({ hostname }: Pick<buildConnector.Options, 'hostname'>): OutboundError =>
  new OutboundError('refused', `"${hostname}" at this port is vmcp itself`);

/** Starts TLS with the target in a tunnel. */
function secured(
  httpSocket: Socket,
  { place }: Proxy,
  { target, connect }: ThroughProxy,
  signal: AbortSignal,
): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const end = (): void => {
    httpSocket.destroy();
  };
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  connect({ ...target, httpSocket }, (error, socket) => {
    signal.removeEventListener('abort', end);
    if (socket) resolve(socket);
    else if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') reject(error);
    else {
      const [kind, what] = signal.aborted
        ? (['timeout', 'brings no'] as const)
        : (['unreachable', 'ends the'] as const);
      reject(
        new ProxyError(kind, `the proxy ${place} ${what} connection to ${authorityOf(target)} before TLS has begun`),
      );
    }
  });
  return promise;
}
