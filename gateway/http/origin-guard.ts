import type { RequestHandler } from 'express';

export interface OriginGuardOptions {
  /** Host names that a request may name in `Host`, without port; undefined: any. */
  readonly allowedHosts: ReadonlySet<string> | undefined;
  /** Origins that a browser may call from, as `scheme://host[:port]`. */
  readonly allowedOrigins: ReadonlySet<string>;
  /** Whether pages served from this machine may call. */
  readonly allowLoopbackOrigins: boolean;
}

/** Asked for every request: a configuration may be swapped. */
export interface CurrentOrigins {
  readonly current: OriginGuardOptions;
}

const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** True for an address that only this machine can reach. */
export const isLoopback = (host: string): boolean =>
  LOOPBACK_HOSTS.has(host) || host === '::1' || host.startsWith('127.');

/** Host names under which a listener on `host` is reached from this machine. */
export const loopbackHosts = (host: string): ReadonlySet<string> =>
  new Set([...LOOPBACK_HOSTS, host.includes(':') ? `[${host}]` : host]);

function hostName(host: string): string {
  const end = host.startsWith('[') ? host.indexOf(']') + 1 : host.indexOf(':');
  return (end > 0 ? host.slice(0, end) : host).toLowerCase();
}

function isLoopbackOrigin(origin: string): boolean {
  const name = /^https?:\/\/([^/]+)$/.exec(origin)?.[1];
  return name !== undefined && LOOPBACK_HOSTS.has(hostName(name));
}

/**
 * Refuses requests that a web page of somebody else could have made (DNS rebinding): a `Host` that is not ours, and any
 * `Origin` that is not allowed, 403. Allowed origins get the CORS headers that browser clients need.
 */
export function originGuard(origins: CurrentOrigins): RequestHandler {
  return (req, res, next) => {
    const options = origins.current;
    const { host, origin } = req.headers;
    if (options.allowedHosts && !options.allowedHosts.has(hostName(host ?? ''))) {
      res.status(403).json({
        error: 'host_not_allowed',
        message: 'this Host is not served here: add it to incomingAuth.allowedHosts',
      });
      return;
    }
    if (origin === undefined) {
      next();
      return;
    }
    if (!options.allowedOrigins.has(origin) && !(options.allowLoopbackOrigins && isLoopbackOrigin(origin))) {
      res.status(403).json({
        error: 'origin_not_allowed',
        message: 'this Origin may not call: add it to incomingAuth.allowedOrigins',
      });
      return;
    }
    res.setHeader('access-control-allow-origin', origin);
    res.setHeader('vary', 'origin');
    res.setHeader('access-control-expose-headers', 'mcp-session-id, www-authenticate');
    if (req.method !== 'OPTIONS') {
      next();
      return;
    }
    res.setHeader('access-control-allow-methods', 'GET, POST, DELETE');
    res.setHeader(
      'access-control-allow-headers',
      'content-type, accept, authorization, mcp-session-id, mcp-protocol-version, last-event-id',
    );
    res.status(204).end();
  };
}
