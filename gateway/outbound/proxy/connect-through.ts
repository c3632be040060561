import { type LookupFunction, type Socket, isIP } from 'node:net';
import type { buildConnector } from 'undici';
import { OutboundError } from '../outbound-error.ts';
import { isForbiddenListener } from '../own-listeners.ts';
import { authorityOf, openThrough } from './open-through.ts';
import { ProxyError } from './proxy-error.ts';
import type { Proxy } from './proxies.ts';
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

/** Time for the answer of the system's resolver. In a network without DNS it takes many seconds to fail. */
const LOOKUP_MS = 1_000;
/** Pause before such a name is looked up again: each look-up occupies one of the few threads of Node.js. */
const PAUSE_MS = 300_000;
const MAX_PAUSED = 1_000;

/** Names that the resolver did not answer in time, with the time (monotonic, ms) until which they are not looked up again. */
const paused = new Map<string, number>();

/**
 * Returns the addresses of a host as far as they can be found here; undefined for a name that only the proxy can resolve.
 * Rejects with errors of `lookup` that `isRefusal` accepts.
 */
async function resolvable(
  hostname: string,
  lookup: LookupFunction,
  isRefusal: (error: unknown) => boolean,
): Promise<readonly string[] | undefined> {
  if (isIP(hostname) !== 0) return [hostname];
  if ((paused.get(hostname) ?? 0) > performance.now()) return undefined;
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[] | undefined>();
  const timer = setTimeout(() => {
    if (paused.size >= MAX_PAUSED) paused.clear();
    paused.set(hostname, performance.now() + PAUSE_MS);
    resolve(undefined);
  }, LOOKUP_MS);
  lookup(hostname, { all: true }, (error, found) => {
    if (error && isRefusal(error)) reject(error);
    else if (error) resolve(undefined);
    else resolve(typeof found === 'string' ? [found] : found.map(({ address }) => address));
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}
