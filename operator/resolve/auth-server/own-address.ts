import { circular, isServedBy } from '../../../gateway/contract/addresses.ts';
import type { Scope } from '../scope.ts';

/** Returns true when a URL belongs to the embedded authorization server. */
export function isOwnAddress(url: string, { vmcp }: Scope): boolean {
  const own = vmcp.spec.authServerConfig;
  return own !== undefined && isServedBy(url, own);
}

/** Returns the message for a token exchange at the embedded authorization server. */
export const circularExchange = (url: string, { vmcp }: Scope): string =>
  url === `${String(vmcp.spec.authServerConfig?.issuer)}/oauth/token`
    ? 'the embedded authorization server of the same VirtualMCPServer issues tokens for this server only: use a config of type upstreamInject to send upstream tokens, or use another address'
    : circular('name another address');
