import type { Client } from './client.ts';

const MAX_FAILURES = 256;
const FAILURE_MS = 30_000;
const MAX_AGE_S = { least: 60, most: 86_400 };

/** The documents that were asked for last, and for a short while which could not be had. Times are in ms. */
export class DocumentCache {
  readonly #max: number;
  /** Oldest use first. */
  readonly #documents = new Map<string, { readonly client: Client; readonly freshUntil: number }>();
  readonly #failures = new Map<string, { readonly reason: string; readonly until: number }>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#documents.size;
  }

  fresh(clientId: string, now: number): Client | undefined {
    const found = this.#documents.get(clientId);
    if (found === undefined || found.freshUntil <= now) return undefined;
    this.#documents.delete(clientId);
    this.#documents.set(clientId, found);
    return found.client;
  }

  /** However old it is. */
  known(clientId: string): Client | undefined {
    return this.#documents.get(clientId)?.client;
  }

  failure(clientId: string, now: number): string | undefined {
    const found = this.#failures.get(clientId);
    return found !== undefined && found.until > now ? found.reason : undefined;
  }

  keep(client: Client, maxAgeSeconds: number, now: number): void {
    this.#failures.delete(client.client_id);
    put(this.#documents, client.client_id, { client, freshUntil: now + maxAgeSeconds * 1000 }, this.#max);
  }

  /** What was known of the document stays known. */
  keepFailure(clientId: string, reason: string, now: number): void {
    put(this.#failures, clientId, { reason, until: now + FAILURE_MS }, MAX_FAILURES);
  }
}

function put<Value>(map: Map<string, Value>, key: string, value: Value, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

/** How long a reply may be kept: what it says, within a minute and a day; `fallback` when it says nothing. @see RFC 9111 §5.2.2 */
export function maxAgeSeconds(cacheControl: string | undefined, fallback: number): number {
  const directives = (cacheControl ?? '').toLowerCase();
  if (/(?:^|[\s,])no-(?:store|cache)(?=$|[\s,=])/u.test(directives)) return MAX_AGE_S.least;
  const shared = /(?:^|[\s,])s-maxage="?(\d{1,9})/u.exec(directives)?.[1];
  const own = shared ?? /(?:^|[\s,])max-age="?(\d{1,9})/u.exec(directives)?.[1];
  if (own === undefined) return fallback;
  return Math.min(Math.max(Number(own), MAX_AGE_S.least), MAX_AGE_S.most);
}
