import type { Scope } from '../scope.ts';

/** Whether a URL is one of the embedded authorization server's. */
export function isOwnAddress(url: string, { vmcp }: Scope): boolean {
  const own = vmcp.spec.authServerConfig?.issuer;
  return own !== undefined && isServedBy(url, own);
}

/** `advice` is what to do about a URL of our own. */
export const circular = (advice: string): string =>
  `this is the embedded authorization server of the same VirtualMCPServer, which would ask itself: ${advice}`;

/** What to do about an exchange at our own. */
export const circularExchange = (url: string, { vmcp }: Scope): string =>
  url === `${String(vmcp.spec.authServerConfig?.issuer)}/oauth/token`
    ? 'the embedded authorization server of the same VirtualMCPServer exchanges no tokens: use a config of type upstreamInject to send what users got at a provider, or name another address'
    : circular('name another address');

/** Folders of the authorization server's own below its issuer; others of the same host may be anybody's. */
const OWN_FOLDERS = ['/oauth/', '/.well-known/'];

/** Whether a URL is an issuer or one of its endpoints, however the two are spelled. */
export function isServedBy(text: string, issuer: string): boolean {
  const [url, root] = [URL.parse(text), URL.parse(issuer)];
  if (!url || !root || url.origin !== root.origin) return false;
  const base = root.pathname.replace(/\/$/u, '');
  const path = url.pathname.replace(/\/$/u, '');
  return path === base || OWN_FOLDERS.some((folder) => path.startsWith(base + folder));
}
