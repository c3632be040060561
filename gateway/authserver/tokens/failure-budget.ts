import type { IncomingMessage } from 'node:http';
import { addressKey, EVERYBODY } from '../../http/addresses/address-key.ts';
import type { AuthServerContext } from '../context.ts';
import { storageKeyOf } from '../core/opaque-token.ts';
import { Refused } from '../http/refused.ts';
import { ExpiringMap } from '../storage/expiring-map.ts';

const MAX_SPENT = 10_000;

/** Limits failed secrets and codes for each client and, if it is known, address. */
export interface FailureBudget {
  /** Called before a secret is verified. Throws `Refused` with 429 while the budget is spent. */
  checkLeft(clientId: string, req: IncomingMessage): void;
  /** Charges a failure. Throws `failure`, or `Refused` with 429 if the budget is spent. */
  charge(clientId: string, req: IncomingMessage, failure: Refused): Promise<never>;
}

/**
 * Creates the budget. A spent budget of a client address rejects every secret, even the right one. It never rejects a valid code,
 * which cannot be guessed, because users of one public client may share an address. Without known addresses it rejects wrong
 * secrets only: otherwise anybody could lock a client out.
 */
export function failureBudget({ settings, store, addressOf, now }: AuthServerContext): FailureBudget {
  const spent = new ExpiringMap<true>(now);
  // hashed, because anybody may invent client ids as long as a URL
  const keyOf = (clientId: string, address: string | undefined): string =>
    storageKeyOf(`${address === undefined ? EVERYBODY : addressKey(address)} ${clientId}`);
  return {
    checkLeft(clientId, req) {
      const address = addressOf(req);
      if (address === undefined) return;
      const leftMs = spent.remainingMs(keyOf(clientId, address));
      if (leftMs > 0) throw new Refused('rate_limited', { retryAfterSeconds: Math.ceil(leftMs / 1_000) });
    },
    async charge(clientId, req, failure) {
      const key = keyOf(clientId, addressOf(req));
      const decision = await store.rates.take('failure', key, settings.limits.failuresPerClient);
      if (decision.allowed) throw failure;
      const { retryAfterSeconds } = decision;
      spent.dropOldest(MAX_SPENT);
      spent.set(key, true, retryAfterSeconds * 1_000);
      throw new Refused('rate_limited', { retryAfterSeconds, facts: { cause: failure.reason } });
    },
  };
}
