import type { Server, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/** `mcp`: an MCP endpoint, which a backend URL may name. `internal`: any other listener, which no request of this process may reach. */
type Purpose = 'mcp' | 'internal';

const open = new Map<Server, Purpose>();

/** Records a listener of this process from now until it closes. */
export function recordListener(server: Server, purpose: Purpose): void {
  open.set(server, purpose);
  server.once('close', () => open.delete(server));
}

/**
 * Returns true if the other end of a connection is a listener of this process that the request must not reach: each, except an MCP
 * endpoint whose URL the configuration names (`isConfigured`).
 */
export function isForbiddenListener(end: Pick<Socket, 'remoteAddress' | 'remotePort'>, isConfigured: boolean): boolean {
  const purpose = ownListener(end);
  return purpose !== undefined && !(purpose === 'mcp' && isConfigured);
}

/** Returns the purpose of the listener of this process at the other end of a connection; undefined when there is none. */
function ownListener({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): Purpose | undefined {
  if (remoteAddress === undefined) return undefined;
  for (const [server, purpose] of open) {
    const bound = server.address();
    if (typeof bound !== 'object' || bound === null || bound.port !== remotePort) continue;
    if (receives(bound.address, remoteAddress)) return purpose;
  }
  return undefined;
}

/** Returns true if a listener that is bound to `bound` receives connections to `address`. */
function receives(bound: string, address: string): boolean {
  const wanted = ipaddr.process(address);
  const listening = ipaddr.process(bound);
  if (listening.range() !== 'unspecified') return listening.toString() === wanted.toString();
  if (wanted.range() === 'loopback') return true;
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.some((one) => ipaddr.process(one.address).toString() === wanted.toString());
}
