import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import { setRefusalReason } from './log-refusals.ts';

/** Origin of a listener, beside that of the `Host` by which the request reached it. */
interface OwnOrigin {
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

export interface OriginGuardOptions {
  /** Host names allowed in `Host`, without port. undefined allows any. */
  readonly allowedHosts: ReadonlySet<string> | undefined;
  /** Configured origins of browser clients, as `scheme://host[:port]`. */
  readonly allowedOrigins: ReadonlySet<string>;
  /** Origin of the listener itself; absent where only the configuration can tell it. */
  readonly own?: OwnOrigin | undefined;
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
 * Rejects a request that another page causes with 403: one with an `Origin` that is not allowed, and one without `Origin`, such as
 * that of an image or a link, unless the browser names the own origin or the user as its cause. Other ports of this machine are
 * other pages. Allowed origins get the CORS headers that browser clients need. Place it after `hostGuard`.
 * @see docs/adr/0012-pages-that-may-call.md; W3C Fetch Metadata, `Sec-Fetch-Site`
 */
export function originGuard(origins: CurrentOrigins): RequestHandler {
  return (req, res, next) => {
    const options = origins.current;
    const { origin } = req.headers;
    if (origin === undefined) {
      if (isSameOriginRequest(req.headers) || isLinkToPage(req, options)) next();
      else refuse(res, options, 'pages of other origins may not call');
      return;
    }
    const isOwn = options.own !== undefined && isSameOriginRequest(req.headers) && isOwnOrigin(req, options.own);
    if (!isOwn && !options.allowedOrigins.has(origin)) {
      refuse(res, options, 'this Origin may not call');
      return;
    }
    res.setHeader('access-control-allow-origin', origin);
    res.setHeader('vary', 'origin');
    res.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
    if (req.method === 'OPTIONS') answerPreflight(req, res, options);
    else next();
  };
}

/** Returns true for a link of any page to the page at `/` of a public listener: it changes nothing, and the other page reads nothing. */
const isLinkToPage = (req: Request, { isManagement }: OriginGuardOptions): boolean =>
  !isManagement && req.path === '/' && (req.method === 'GET' || req.method === 'HEAD');

function refuse(res: Response, { isManagement }: OriginGuardOptions, subject: string): void {
  setRefusalReason(res, 'origin');
  const advice = isManagement
    ? 'only pages of the management API itself may, and those of --allow-api-origin'
    : 'add its origin to incomingAuth.allowedOrigins, or start vmcp up with --allow-origin';
  res.status(403).json({ error: 'origin_not_allowed', message: `${subject}: ${advice}` });
}

function answerPreflight(req: Request, res: Response, options: OriginGuardOptions): void {
  const methods = options.isManagement ? 'GET, POST, PUT, DELETE' : 'GET, POST, DELETE';
  res.setHeader('access-control-allow-methods', methods);
  res.setHeader(
    'access-control-allow-headers',
    allowedHeaders(req.headers['access-control-request-headers'], options.allowedHeaders),
  );
  res.status(204).end();
}

const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/iu;

/**
 * Rejects a body that a browser sends as another type than JSON with 415: only for JSON, it asks before it sends the body of another
 * page. Programs may send any type.
 */
export const pageBodyGuard: RequestHandler = ({ headers }, res, next) => {
  if (!hasBody(headers) || JSON_TYPE.test(headers['content-type'] ?? '') || !isOfBrowser(headers)) {
    next();
    return;
  }
  const message = 'pages may send application/json only: set Content-Type';
  res.status(415).json({ error: 'unsupported_media_type', message });
};

const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;

/** The `fetch` of Node.js sends `Sec-Fetch-Mode: cors` alone; a browser sends a body in this mode with an `Origin`. */
const isOfBrowser = (headers: IncomingHttpHeaders): boolean =>
  headers.origin !== undefined ||
  Object.entries(headers).some(
    ([name, value]) => name.startsWith('sec-fetch-') && !(name === 'sec-fetch-mode' && value === 'cors'),
  );
