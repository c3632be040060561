import { addressKey, EVERYBODY } from '../clients/address-key.ts';
import type { RateLimit, Rates } from '../storage/store.ts';
import { Refused } from './refused.ts';

/** Takes one use of a bucket. Throws `Refused` with 429 and how long to wait. */
export async function spend(rates: Rates, bucket: string, key: string, limit: RateLimit): Promise<void> {
  const decision = await rates.take(bucket, key, limit);
  if (!decision.allowed) throw new Refused('rate_limited', { retryAfterSeconds: decision.retryAfterSeconds });
}

/**
 * Takes one use of the bucket of an address, or of the network that an IPv6 address is of; of the bucket of everybody
 * where addresses say nothing. Throws `Refused` with 429.
 */
export const spendOfAddress = (
  rates: Rates,
  bucket: string,
  address: string | undefined,
  { perAddress, overall }: { readonly perAddress: RateLimit; readonly overall: RateLimit },
): Promise<void> =>
  address === undefined
    ? spend(rates, bucket, EVERYBODY, overall)
    : spend(rates, bucket, addressKey(address), perAddress);
