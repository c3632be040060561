import type { Request } from 'express';
import { FORM, readBodyText, counted } from '../../http/endpoint/body-text.ts';
import { queryText } from '../../http/endpoint/read-input.ts';
import { parseParameters, type RequestParameters } from '../core/request-parameters.ts';
import { addressKey, EVERYBODY } from '../../http/client-address.ts';
import type { RateLimit, Rates } from '../storage/store.ts';
import { Refused } from './refused.ts';

/** Reads the parameters of a form. Throws `RequestError`. */
export const readForm = async (req: Request): Promise<RequestParameters> =>
  parseParameters(counted('form', await readBodyText(req, FORM)));

/** Reads the parameters of the query. Throws `RequestError`. */
export const readQuery = (req: Request): RequestParameters => parseParameters(counted('query', queryText(req)));

/** Takes one token from a rate bucket. Throws `Refused` with 429 and the time to wait. */
export async function spend(rates: Rates, bucket: string, key: string, limit: RateLimit): Promise<void> {
  const decision = await rates.take(bucket, key, limit);
  if (!decision.allowed) throw new Refused('rate_limited', { retryAfterSeconds: decision.retryAfterSeconds });
}

/**
 * Takes one token from the bucket of an address, or of the network of an IPv6 address. Without a known address it takes one from
 * the bucket of all clients. Throws `Refused` with 429.
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
