const MAX_FAILURES = 256;
export const FAILURE_MS = 30_000;
const MAX_AGE_S = { least: 60, most: 86_400 };

/** Cache of the most recently used documents, and for a short time of failures. Times are in ms. */
export class DocumentCache<Value, Failure> {
  readonly #max: number;
  /** Least recently used first. */
  readonly #documents = new Map<string, { readonly value: Value; readonly freshUntil: number }>();
  readonly #failures = new Map<string, { readonly value: Failure; readonly until: number }>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#documents.size;
  }

  fresh(url: string, now: number): Value | undefined {
    const found = this.#documents.get(url);
    if (found === undefined || found.freshUntil <= now) return undefined;
    this.#documents.delete(url);
    this.#documents.set(url, found);
    return found.value;
  }

  /** Returns a document of any age. */
  known(url: string): Value | undefined {
    return this.#documents.get(url)?.value;
  }

  failure(url: string, now: number): Failure | undefined {
    const found = this.#failures.get(url);
    return found !== undefined && found.until > now ? found.value : undefined;
  }

  forgetFailures(): void {
    this.#failures.clear();
  }

  keep(url: string, value: Value, maxAgeSeconds: number, now: number): void {
    this.#failures.delete(url);
    put(this.#documents, url, { value, freshUntil: now + maxAgeSeconds * 1000 }, this.#max);
  }

  /** Remembers a failure. A cached document stays. */
  keepFailure(url: string, value: Failure, now: number): void {
    put(this.#failures, url, { value, until: now + FAILURE_MS }, MAX_FAILURES);
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

/** Returns the lifetime of a reply: as stated, at least a minute and at most a day; `fallback` if not stated. @see RFC 9111 §5.2.2 */
export function maxAgeSeconds(cacheControl: string | undefined, fallback: number): number {
  const directives = (cacheControl ?? '').toLowerCase();
  if (/(?:^|[\s,])no-(?:store|cache)(?=$|[\s,=])/u.test(directives)) return MAX_AGE_S.least;
  const shared = /(?:^|[\s,])s-maxage="?(\d{1,9})/u.exec(directives)?.[1];
  const own = shared ?? /(?:^|[\s,])max-age="?(\d{1,9})/u.exec(directives)?.[1];
  if (own === undefined) return fallback;
  return Math.min(Math.max(Number(own), MAX_AGE_S.least), MAX_AGE_S.most);
}
