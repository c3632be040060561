import ipaddr from 'ipaddr.js';

export interface RateLimit {
  /** What may come at once. */
  readonly capacity: number;
  readonly perSecond: number;
}

/** What is kept of a key between two requests. None kept is a full bucket. */
export interface Bucket {
  readonly tokens: number;
  /** ms since the epoch */
  readonly at: number;
}

export type RateDecision =
  | {
      readonly allowed: true;
      readonly bucket: Bucket;
      /** The bucket is full again: it need not be kept longer. */
      readonly keepMs: number;
    }
  | { readonly allowed: false; readonly retryAfterSeconds: number };

/** Registrations of one address, and of all together. @see contract/auth.md 3.4 */
export const REGISTRATION_PER_ADDRESS: RateLimit = { capacity: 10, perSecond: 5 / 60 };
export const REGISTRATION_OVERALL: RateLimit = { capacity: 20, perSecond: 2 };
/** Documents of clients that one address makes us fetch. */
export const DOCUMENT_FETCHES_PER_ADDRESS: RateLimit = { capacity: 10, perSecond: 10 / 60 };

/** Takes one token. A clock that goes back fills nothing and takes nothing away. */
export function decideRate(bucket: Bucket | undefined, limit: RateLimit, now: number): RateDecision {
  const tokens = tokensAt(bucket, limit, now);
  if (tokens < 1) return { allowed: false, retryAfterSeconds: Math.ceil(rounded((1 - tokens) / limit.perSecond)) };
  const left = tokens - 1;
  const keepMs = Math.ceil(((limit.capacity - left) / limit.perSecond) * 1000);
  return { allowed: true, bucket: { tokens: left, at: Math.max(now, bucket?.at ?? now) }, keepMs };
}

function tokensAt(bucket: Bucket | undefined, { capacity, perSecond }: RateLimit, now: number): number {
  if (bucket === undefined) return capacity;
  const filled = (Math.max(0, now - bucket.at) / 1000) * perSecond;
  return rounded(Math.min(capacity, bucket.tokens + filled));
}

/** Thirds and twelfths of a token must add up to one. */
const rounded = (value: number): number => Math.round(value * 1e6) / 1e6;

/** The key of a peer's address: who has one IPv6 address has the whole /64 of it. */
export function addressKey(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
