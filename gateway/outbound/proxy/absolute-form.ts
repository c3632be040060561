import type { Dispatcher } from 'undici';
import { authorityOf } from './open-through.ts';
import { refusingProxy } from './proxy-error.ts';
import { hasHttpProxy, proxyFor, type Proxy } from './proxies.ts';

/**
 * Makes requests over http that go through a proxy name their whole URL, and present the credential of the proxy. Returns the
 * dispatcher itself where no request needs that. RFC 9112 §3.2.2
 * @param origin of all requests; absent for a dispatcher whose requests name theirs
 */
export function inAbsoluteForm(dispatcher: Dispatcher, origin?: URL): Dispatcher {
  if (!hasHttpProxy() || (origin && !httpProxyFor(origin))) return dispatcher;
  return dispatcher.compose((dispatch) => (request, handler) => {
    const url = origin ?? URL.parse(String(request.origin));
    const proxy = url && httpProxyFor(url);
    if (!proxy) return dispatch(request, handler);
    // One connection for each: some proxies pass what follows the first request on to its server, the credential with it.
    const proxied = { ...request, path: `${url.origin}${request.path}`, reset: true };
    const { authorization } = proxy;
    if (authorization !== undefined) proxied.headers = withCredential(request.headers, authorization);
    return dispatch(proxied, new ProxiedReply(handler, proxy, authorityOf(url)));
  });
}

const httpProxyFor = (url: URL): Proxy | undefined => (url.protocol === 'http:' ? proxyFor(url) : undefined);

/** Adds the credential to headers in the forms that this process uses: a flat list of names and values, or an object. */
const withCredential = (headers: unknown, authorization: string): string[] | Record<string, string> =>
  Array.isArray(headers)
    ? [...(headers as string[]), 'proxy-authorization', authorization]
    : { ...(headers as Record<string, string>), 'proxy-authorization': authorization };

type ResponseHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

/** Reply to a request through a proxy. A reply of the proxy itself becomes an error. */
class ProxiedReply implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #proxy: Proxy;
  readonly #target: string;

  constructor(handler: Dispatcher.DispatchHandler, proxy: Proxy, target: string) {
    this.#handler = handler;
    this.#proxy = proxy;
    this.#target = target;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#handler.onRequestStart?.(controller, context);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: ResponseHeaders,
    message?: string,
  ): void {
    if (isOfProxy(status, headers)) controller.abort(refusingProxy(this.#proxy, this.#target, status));
    else this.#handler.onResponseStart?.(controller, status, headers, message);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#handler.onResponseData?.(controller, chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: ResponseHeaders): void {
    this.#handler.onResponseEnd?.(controller, trailers);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.#handler.onResponseError?.(controller, error);
  }
}

const GATEWAY_FAULTS: ReadonlySet<number> = new Set([502, 503, 504]);
const OWN_SERVER = /^(squid|tinyproxy)\b/iu;

/**
 * Returns true for replies of the proxy itself: 407, refusals with a header of proxies, and pages with a status that proxies use. Servers
 * explain a refusal with JSON, a challenge or the time of a retry.
 */
function isOfProxy(status: number, headers: ResponseHeaders): boolean {
  if (status < 400) return false;
  const isMarked = headers['x-squid-error'] !== undefined || headers['proxy-status'] !== undefined;
  if (status === 407 || isMarked || OWN_SERVER.test(String(headers['server'] ?? ''))) return true;
  const type = String(headers['content-type'] ?? '');
  if (status === 403) return type.startsWith('text/html') && headers['www-authenticate'] === undefined;
  return GATEWAY_FAULTS.has(status) && !type.includes('json') && headers['retry-after'] === undefined;
}
