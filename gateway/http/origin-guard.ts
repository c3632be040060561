import type { RequestHandler } from 'express';
import { setRefusalReason } from './log-refusals.ts';

export interface OriginGuardOptions {
  /** Host names allowed in `Host`, without port. undefined allows any. */
  readonly allowedHosts: ReadonlySet<string> | undefined;
  /** Allowed origins of browser clients, as `scheme://host[:port]`. */
  readonly allowedOrigins: ReadonlySet<string>;
  /** Allows pages that are served from this machine. */
  readonly allowLoopbackOrigins: boolean;
  /** Request headers that pages may send in addition to those of the protocol, in lower case. */
  readonly allowedHeaders?: readonly string[] | undefined;
  /** True for the management listener, which has no such settings and serves PUT. */
  readonly isManagement?: boolean | undefined;
}

/** Current options, read for every request because the configuration may change. */
export interface CurrentOrigins {
  readonly current: OriginGuardOptions;
}

const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Returns true for an address that only this machine can reach. */
export const isLoopback = (host: string): boolean =>
  LOOPBACK_HOSTS.has(host) || host === '::1' || host.startsWith('127.');

/** Returns the host names that reach a listener on `host` from this machine. */
export const loopbackHosts = (host: string): ReadonlySet<string> =>
  new Set([...LOOPBACK_HOSTS, host.includes(':') ? `[${host}]` : host]);

/** Response headers that pages may read. */
export const EXPOSED_HEADERS = 'WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version';

const REQUEST_HEADERS = [
  'content-type',
  'accept',
  'authorization',
  'mcp-session-id',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'last-event-id',
];

/** Matches further protocol headers that a preflight may request, such as `mcp-param-region`. */
const MCP_HEADER = /^mcp-[a-z0-9-]{1,100}$/;

function allowedHeaders(requested: string | undefined, configured: readonly string[] = []): string {
  const asked = (requested ?? '').split(',').map((name) => name.trim().toLowerCase());
  const ofProtocol = asked.filter((name) => MCP_HEADER.test(name)).slice(0, 32);
  return [...new Set([...REQUEST_HEADERS, ...ofProtocol, ...configured])].join(', ');
}

/** Returns the name of `name[:port]`, or an empty string for other texts. */
const hostName = (host: string): string => /^(\[[^\]]*\]|[^:[\]]*)(?::\d*)?$/.exec(host)?.[1]?.toLowerCase() ?? '';

function isLoopbackOrigin(origin: string): boolean {
  const name = /^https?:\/\/([^/]+)$/.exec(origin)?.[1];
  return name !== undefined && LOOPBACK_HOSTS.has(hostName(name));
}

/** Rejects an unknown `Host` with 403, as protection against DNS rebinding. */
export function hostGuard(origins: CurrentOrigins): RequestHandler {
  return (req, res, next) => {
    const { allowedHosts, isManagement } = origins.current;
    if (!allowedHosts || allowedHosts.has(hostName(req.headers.host ?? ''))) {
      next();
      return;
    }
    setRefusalReason(res, 'host');
    res.status(403).json({
      error: 'host_not_allowed',
      message: isManagement
        ? 'this Host is not served here: use 127.0.0.1 or localhost'
        : 'this Host is not served here: add it to incomingAuth.allowedHosts',
    });
  };
}

/**
 * Rejects an `Origin` that is not allowed with 403. Allowed origins get the CORS headers that browser clients need. Place it after
 * `hostGuard`.
 */
export function originGuard(origins: CurrentOrigins): RequestHandler {
  return (req, res, next) => {
    const options = origins.current;
    const { origin } = req.headers;
    if (origin === undefined) {
      next();
      return;
    }
    if (!options.allowedOrigins.has(origin) && !(options.allowLoopbackOrigins && isLoopbackOrigin(origin))) {
      setRefusalReason(res, 'origin');
      res.status(403).json({
        error: 'origin_not_allowed',
        message: options.isManagement
          ? 'this Origin may not call: only pages of this machine may'
          : 'this Origin may not call: add it to incomingAuth.allowedOrigins',
      });
      return;
    }
    res.setHeader('access-control-allow-origin', origin);
    res.setHeader('vary', 'origin');
    res.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
    if (req.method !== 'OPTIONS') {
      next();
      return;
    }
    res.setHeader(
      'access-control-allow-methods',
      options.isManagement ? 'GET, POST, PUT, DELETE' : 'GET, POST, DELETE',
    );
    res.setHeader(
      'access-control-allow-headers',
      allowedHeaders(req.headers['access-control-request-headers'], options.allowedHeaders),
    );
    res.status(204).end();
  };
}

/**
 * Rejects requests without `Origin` that a page of another site causes, such as those of its images and links, with 403: a GET of the
 * management API may read an address that the page chooses, with a credential of the user. @see W3C Fetch Metadata, `Sec-Fetch-Site`
 */
export const crossSiteGuard: RequestHandler = ({ headers }, res, next) => {
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== 'cross-site') {
    next();
    return;
  }
  setRefusalReason(res, 'origin');
  res.status(403).json({ error: 'origin_not_allowed', message: 'pages of other sites may not call' });
};
