import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';

const MAX_REDIRECTS = 3;

/**
 * Creates the fetch of an MCP client. A document or a redirect of the server leads neither to this machine, unless the server itself is
 * here, nor to the origin `management`. Redirects stay at the origin, except from http to https.
 */
export function guardedFetch(mcpUrl: string, management: string | undefined): FetchLike {
  const isHere = isLoopback(new URL(mcpUrl));
  const check = (url: URL): URL => {
    const isForbidden = isLoopback(url) && (!isHere || isSameEndpoint(url, management));
    if (!isForbidden) return url;
    throw new Error(`the server leads to ${url.host}, which is this machine: the request was not sent`);
  };
  return async (input, init) => {
    let url = check(new URL(input));
    for (let redirects = 0; ; redirects += 1) {
      const reply = await fetch(url, { ...init, redirect: 'manual' });
      const next = redirects < MAX_REDIRECTS ? redirectOf(reply, url, init?.method) : undefined;
      if (!next) return reply;
      await reply.body?.cancel();
      url = check(next);
    }
  };
}

/** Host names and addresses of this machine, as `URL` writes them. */
const LOOPBACK =
  /^(?:(?:.+\.)?localhost\.?|127\.[\d.]+|0\.0\.0\.0|\[::1?\]|\[::ffff:(?:7f[\da-f]{2}:[\da-f]+|0:0)\])$/u;

const isLoopback = ({ hostname }: URL): boolean => LOOPBACK.test(hostname);

/** Compares the ports alone: each loopback name leads to the same listener. */
const isSameEndpoint = ({ port }: URL, other: string | undefined): boolean =>
  other !== undefined && URL.parse(other)?.port === port;

/** Returns the URL of a redirect that keeps the method and the origin; undefined for other replies. */
function redirectOf({ status, headers }: Response, from: URL, method = 'GET'): URL | undefined {
  const isFollowed = method === 'GET' ? [301, 302, 303, 307, 308] : [307, 308];
  const to = URL.parse(headers.get('location') ?? '', from.href);
  if (!isFollowed.includes(status) || to?.hostname !== from.hostname) return undefined;
  return to.origin === from.origin || (from.protocol === 'http:' && to.protocol === 'https:') ? to : undefined;
}
