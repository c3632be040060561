import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { forwardedAddresses } from '../forwarded-address.ts';

/** Returns the client address, or undefined if many clients may share the known address, so that it must not be limited. */
export type AddressOf = (req: IncomingMessage) => string | undefined;

/**
 * Creates the reader of client addresses. From the right end of `X-Forwarded-For`, it takes the first address that is not a
 * trusted proxy. Without a trusted proxy it accepts loopback peers only, because any other peer may be an unlisted proxy.
 * `trusted` are CIDRs or addresses.
 */
export function clientAddresses(trusted: readonly string[]): AddressOf {
  const addressOf = forwardedAddresses(trusted);
  return (req) => {
    const address = addressOf(req);
    return address !== (req.socket.remoteAddress ?? '') || isLoopback(address) ? address : undefined;
  };
}

const isLoopback = (address: string): boolean =>
  ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
