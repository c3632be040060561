import { OutboundError, type OutboundFault } from '../outbound-error.ts';
import type { Proxy } from './proxies.ts';

/** A proxy gives no connection. `message` is also for users: it names hosts, ports, variables and codes, never a credential. */
export class ProxyError extends OutboundError {
  constructor(kind: OutboundFault, message: string) {
    super(kind, message);
    this.name = 'ProxyError';
  }
}

/** Returns the fault of a proxy that cannot be used itself. */
export function unreachableProxy({ place, variable }: Proxy, error: unknown): ProxyError {
  if (error instanceof ProxyError) return error;
  const code = error instanceof Error ? ('code' in error ? String(error.code) : error.name) : 'unknown';
  const isUntrusted = /CERT|SIGNATURE/u.test(code);
  const advice = isUntrusted ? 'add its CA with NODE_EXTRA_CA_CERTS' : `start it, or correct ${variable}`;
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT')
    return new ProxyError('timeout', `the proxy ${place} does not answer in time: ${advice}`);
  return new ProxyError('unreachable', `the proxy ${place} cannot be reached (${code}): ${advice}`);
}

/** Returns the fault of a proxy that refuses the way to `target`, a host with its port. */
export const refusingProxy = (proxy: Proxy, target: string, status: number): ProxyError =>
  new ProxyError(
    'unreachable',
    `the proxy ${proxy.place} answers HTTP ${String(status)} for ${target}: ${adviceFor(proxy, status)}`,
  );

function adviceFor({ variable, authorization }: Proxy, status: number): string {
  // tinyproxy answers 401 to a wrong credential
  if (status === 407 || (status === 401 && authorization !== undefined))
    return authorization === undefined
      ? `write USER:PASSWORD@ in front of its host in ${variable}`
      : `correct the credential in ${variable}`;
  return status >= 500
    ? 'check that the host is up and that the proxy can reach it, or list the host in NO_PROXY'
    : 'allow the host and its port in the proxy, or list the host in NO_PROXY';
}
