import { isIP, type LookupFunction } from 'node:net';

/** Time for the answer of the system's resolver. In a network without DNS it takes many seconds to fail. */
const LOOKUP_MS = 1_000;
/** Pause before such a name is looked up again: each look-up occupies one of the few threads of Node.js. */
const PAUSE_MS = 300_000;
const MAX_PAUSED = 1_000;

/** Names that the resolver did not answer in time, with the time (monotonic, ms) until which they are not looked up again. */
const paused = new Map<string, number>();

/**
 * Returns the addresses of a host as far as they can be found here; undefined for a name that only the proxy can resolve.
 * Rejects with errors of `lookup` that `isRefusal` accepts.
 */
export async function resolvable(
  hostname: string,
  lookup: LookupFunction,
  isRefusal: (error: unknown) => boolean,
): Promise<readonly string[] | undefined> {
  if (isIP(hostname) !== 0) return [hostname];
  if ((paused.get(hostname) ?? 0) > performance.now()) return undefined;
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[] | undefined>();
  const timer = setTimeout(() => {
    if (paused.size >= MAX_PAUSED) paused.clear();
    paused.set(hostname, performance.now() + PAUSE_MS);
    resolve(undefined);
  }, LOOKUP_MS);
  lookup(hostname, { all: true }, (error, found) => {
    if (error && isRefusal(error)) reject(error);
    else if (error) resolve(undefined);
    else resolve(typeof found === 'string' ? [found] : found.map(({ address }) => address));
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}
