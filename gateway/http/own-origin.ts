import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** Origin of a listener, beside that of the `Host` by which the request reached it. */
export interface OwnOrigin {
  /** Names of this machine. With the port of the listener, each is the own origin. */
  readonly names: ReadonlySet<string>;
}

/** Returns true unless the browser says that another page causes the request. Programs say nothing. */
export function isSameOriginRequest(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  return site === undefined || site === 'same-origin' || site === 'none';
}

/**
 * Returns true if `Origin` is that of the listener: it equals the `Host`, which `hostGuard` has checked, or it is a name of this
 * machine with the port of the listener.
 */
export function isOwnOrigin({ headers, socket }: IncomingMessage, { names }: OwnOrigin): boolean {
  const { origin = '', host = '' } = headers;
  const scheme = /^https?:\/\//.exec(origin)?.[0];
  if (scheme === undefined) return false;
  if (originOf(scheme, host) === origin) return true;
  const port = String(socket.localPort ?? '');
  return [...names].some((name) => originOf('http://', `${name}:${port}`) === origin);
}

/** Returns the origin as browsers write it: in lower case, without a default port. */
const originOf = (scheme: string, authority: string): string | undefined =>
  /[/?#@\\]/u.test(authority) ? undefined : URL.parse(scheme + authority)?.origin;
