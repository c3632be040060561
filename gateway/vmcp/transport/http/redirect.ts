import type { Dispatcher } from 'undici';
import type { BackendFailure } from '../channel.ts';
import { garbage } from '../failure.ts';

/** Most redirects of a request. */
export const MAX_REDIRECTS = 3;
/** Redirects that keep the method and the body. @see RFC 9110 sections 15.4.8 and 15.4.9 */
const KEEPING: ReadonlySet<number> = new Set([307, 308]);
/** Redirects of a GET, which stays a GET. */
const OF_GET: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

type Location = string | readonly string[] | undefined;

export const isRedirect = (status: number): boolean => OF_GET.has(status);

/**
 * Returns the path and query to which a request is sent again: the redirect keeps its method, its body and its origin.
 * Another origin must not get the credential. Undefined for other redirects. @param from URL of the request
 */
export function redirectedPath(method: string, status: number, location: Location, from: URL): string | undefined {
  if (!(method === 'GET' ? OF_GET : KEEPING).has(status)) return undefined;
  const to = targetOf(location, from);
  const isSame = to?.origin === from.origin && to.username === '' && to.password === '';
  return isSame ? to.pathname + to.search : undefined;
}

/** Returns the failure of a redirect that is not followed. It names the target without its query, which may hold a secret. */
export function failureOfRedirect(status: number, location: Location, from: URL): BackendFailure {
  const to = targetOf(location, from);
  const target = to
    ? `to ${(to.origin === 'null' ? to.protocol : to.origin + to.pathname).slice(0, 200)}`
    : 'to no valid URL';
  const advice = to && to.origin !== from.origin ? ': set that URL if you trust it' : '';
  const detail = `it redirects (HTTP ${String(status)}) ${target}; such redirects are not followed${advice}`;
  return garbage(detail, detail);
}

function targetOf(location: Location, from: URL): URL | null {
  const [text] = typeof location === 'string' ? [location] : (location ?? []);
  return text === undefined ? null : URL.parse(text, from.href);
}

/** Target of a request. A URL would be parsed for each. */
export interface RedirectPlace {
  readonly origin: string;
  /** With the query. */
  readonly path: string;
}

export const placeOf = ({ origin, pathname, search }: URL): RedirectPlace => ({ origin, path: pathname + search });

/** Sends a request whose body can be sent again, and follows its redirects. Calls `onMoved` with the path of each. */
export async function requestFollowing(
  dispatcher: Dispatcher,
  { origin, path: first }: RedirectPlace,
  options: Omit<Dispatcher.RequestOptions, 'origin' | 'path'>,
  onMoved?: (path: string) => void,
): Promise<Dispatcher.ResponseData> {
  let path = first;
  for (let redirects = 0; ; redirects += 1) {
    const reply = await dispatcher.request({ ...options, origin, path });
    const { statusCode, headers, body } = reply;
    if (!isRedirect(statusCode) || redirects === MAX_REDIRECTS) return reply;
    const next = redirectedPath(options.method, statusCode, headers['location'], new URL(origin + path));
    if (next === undefined) return reply;
    await body.dump();
    onMoved?.(next);
    path = next;
  }
}
