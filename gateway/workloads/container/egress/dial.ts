import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { ContainerIsolation } from '../../../contract/container/options.ts';
import { addressFault, canonical, isHostName, nameFault, type Destination } from './access.ts';
import { limited } from '../../../kit/time.ts';

export interface DialOptions {
  readonly isolation: ContainerIsolation;
  /** Resolves a name; by the system when absent. */
  readonly lookup?: (host: string) => Promise<readonly LookupAddress[]>;
  /** Addresses of the container host; those of the network interfaces when absent. */
  readonly ownAddresses?: () => readonly string[];
  /** Time to resolve the name and to connect; 15 s when absent. */
  readonly connectTimeoutMs?: number;
}

/** The isolation refuses a destination. The message has the reason. */
export class RefusedDestination extends Error {
  override readonly name = 'RefusedDestination';
}

const CONNECT_TIMEOUT_MS = 15_000;
/** Silence after which the system checks that the remote still exists. */
const KEEP_ALIVE_MS = 60_000;

/**
 * Connects to a destination. Every address of its name must be allowed, and one of these addresses is dialled. `left` ends
 * the attempt, and has no effect on the returned socket.
 * @throws RefusedDestination, or the error of the look-up or the connection
 */
export async function dial(to: Destination, options: DialOptions, left: AbortSignal): Promise<Socket> {
  const attempt = async (signal: AbortSignal): Promise<Socket> => {
    const found = await Promise.race([allowedAddresses(to, options), aborted(signal)]);
    return open(to, found, signal);
  };
  return limited(options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS, attempt, left);
}

async function allowedAddresses(to: Destination, options: DialOptions): Promise<readonly LookupAddress[]> {
  const { isolation, lookup = systemAddresses, ownAddresses = interfaceAddresses } = options;
  const fault = nameFault(to, isolation);
  if (fault !== undefined) throw refused(to, fault);
  const found = await resolve(to, lookup);
  const own = new Set(ownAddresses().map(canonical));
  for (const { address } of found) {
    const reason = addressFault(to, address, isolation, own);
    if (reason !== undefined) throw refused(to, reason);
  }
  return found;
}

async function open(to: Destination, found: readonly LookupAddress[], signal: AbortSignal): Promise<Socket> {
  const [first] = found;
  if (first === undefined) throw new Error(`no address for ${to.host}`);
  const socket = connect({
    port: to.port,
    host: found.length === 1 ? first.address : to.host,
    allowHalfOpen: true,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MS,
    signal,
    lookup: (_host, _options, callback) => {
      callback(null, [...found]);
    },
  });
  await once(socket, 'connect');
  return socket;
}

/** Rejects when `signal` is aborted. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const fail = (): void => {
      reject(new Error('the attempt has ended'));
    };
    if (signal.aborted) fail();
    else signal.addEventListener('abort', fail, { once: true });
  });

const refused = ({ host, port }: Destination, reason: string): RefusedDestination =>
  new RefusedDestination(`connections to ${host}:${port} are not allowed: ${reason}`);

async function resolve(
  to: Destination,
  lookup: (host: string) => Promise<readonly LookupAddress[]>,
): Promise<readonly LookupAddress[]> {
  const family = isIP(to.host);
  if (family !== 0) return [{ address: to.host, family }];
  return isHostName(to) ? [{ address: '127.0.0.1', family: 4 }] : lookup(to.host);
}

const systemAddresses = (host: string): Promise<LookupAddress[]> =>
  new Promise((resolve, reject) => {
    systemLookup(host, { all: true }, (error, addresses) => {
      if (error) reject(error);
      else resolve(addresses);
    });
  });

const interfaceAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));
