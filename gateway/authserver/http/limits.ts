import { addressKey } from '../clients/address-key.ts';
import type { RateLimit, Rates } from '../storage/store.ts';
import { Refused } from './refused.ts';

/** Takes one use of a bucket. Throws `Refused` with 429 and how long to wait. */
export async function spend(rates: Rates, bucket: string, key: string, limit: RateLimit): Promise<void> {
  const decision = await rates.take(bucket, key, limit);
  if (!decision.allowed) throw new Refused('rate_limited', { retryAfterSeconds: decision.retryAfterSeconds });
}

/** One use of the bucket of an address, or of the network that an IPv6 address is of. */
export const spendOfAddress = (rates: Rates, bucket: string, address: string, limit: RateLimit): Promise<void> =>
  spend(rates, bucket, addressKey(address), limit);
