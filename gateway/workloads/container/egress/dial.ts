import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { ContainerIsolation } from '../../../contract/container/options.ts';
import { addressFault, canonical, isHostName, nameFault, type Destination } from './access.ts';

export interface DialOptions {
  readonly isolation: ContainerIsolation;
  /** Resolves a name; by the system when absent. */
  readonly lookup?: (host: string) => Promise<readonly LookupAddress[]>;
  /** Addresses of the container host; those of the network interfaces when absent. */
  readonly ownAddresses?: () => readonly string[];
}

/** The isolation refuses a destination. The message has the reason. */
export class RefusedDestination extends Error {
  override readonly name = 'RefusedDestination';
}

const TIMEOUT_MS = 15_000;

/**
 * Connects to a destination. Every address of its name must be allowed, and one of these addresses is dialled.
 * @throws RefusedDestination, or the error of the look-up or the connection
 */
export async function dial(to: Destination, options: DialOptions): Promise<Socket> {
  const { isolation, lookup = systemAddresses, ownAddresses = interfaceAddresses } = options;
  const fault = nameFault(to, isolation);
  if (fault !== undefined) throw refused(to, fault);
  const found = await resolve(to, lookup);
  const own = new Set(ownAddresses().map(canonical));
  for (const { address } of found) {
    const reason = addressFault(to, address, isolation, own);
    if (reason !== undefined) throw refused(to, reason);
  }
  const [first] = found;
  if (first === undefined) throw new Error(`no address for ${to.host}`);
  const socket = connect({
    port: to.port,
    host: found.length === 1 ? first.address : to.host,
    allowHalfOpen: true,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    lookup: (_host, _options, callback) => {
      callback(null, [...found]);
    },
  });
  await once(socket, 'connect');
  return socket;
}

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
