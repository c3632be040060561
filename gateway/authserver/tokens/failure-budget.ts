import type { IncomingMessage } from 'node:http';
import { addressKey, EVERYBODY } from '../clients/address-key.ts';
import type { AuthServerContext } from '../context.ts';
import { storageKeyOf } from '../core/opaque-token.ts';
import { Refused } from '../http/refused.ts';
import { ExpiringMap } from '../storage/expiring-map.ts';

const MAX_SPENT = 10_000;

/** Counts failed guesses of secrets and codes by client and, where it is known, address. */
export interface FailureBudget {
  /** Before a secret is looked at. Throws `Refused` with 429 while the budget is spent. */
  checkLeft(clientId: string, req: IncomingMessage): void;
  /** Throws `failure`, or `Refused` with 429 when the budget is spent. */
  charge(clientId: string, req: IncomingMessage, failure: Refused): Promise<never>;
}

/**
 * A spent budget of an address refuses secrets, right ones too. It does not refuse a valid code: that cannot be guessed,
 * and users of one public client may share an address. Where addresses are not known, it refuses wrong secrets only:
 * else anybody could lock out a client by failing in its name.
 */
export function failureBudget({ settings, store, addressOf, now }: AuthServerContext): FailureBudget {
  const spent = new ExpiringMap<true>(now);
  // Client ids are as long as a URL, and anybody may make them up.
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
