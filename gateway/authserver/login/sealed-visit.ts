import type { AuthServerContext } from '../context.ts';
import { storageKeyOf, type SecretRing } from '../core/opaque-token.ts';
import type { Transaction } from '../storage/records.ts';
import { createSealer, type Sealer } from '../storage/sealing.ts';
import { STEP_MS } from './transition.ts';

const NAME = 'visit';
/** Stands in sealed texts, and in no handle of the store. */
const MARK = '.';

const sealers = new WeakMap<() => SecretRing, Sealer>();

function sealerOf({ secrets }: Pick<AuthServerContext, 'secrets'>): Sealer {
  const sealer = sealers.get(secrets) ?? createSealer(secrets);
  sealers.set(secrets, sealer);
  return sealer;
}

/**
 * A visit that nobody has answered yet stands in the form of its page: however many are begun and left alone, nothing is
 * kept of them.
 */
export const sealVisit = (transaction: Transaction, context: AuthServerContext): string =>
  sealerOf(context).seal(NAME, JSON.stringify(transaction));

export const isSealed = (handle: string): boolean => handle.includes(MARK);

/** Undefined: not sealed here, or too old. */
export function openSealed(handle: string, context: AuthServerContext): Transaction | undefined {
  const text = sealerOf(context).open(NAME, handle);
  const transaction = text === undefined ? undefined : (JSON.parse(text) as Transaction);
  return transaction && context.now() - transaction.createdAt < STEP_MS ? transaction : undefined;
}

const legName = (handle: string): string => `leg ${storageKeyOf(handle)}`;

/** A login attempt at a provider, for the browser to keep: the store has no room. It opens with this handle only. */
export const sealLeg = (handle: string, transaction: Transaction, until: number, context: AuthServerContext): string =>
  sealerOf(context).seal(legName(handle), JSON.stringify({ transaction, until }));

/** Undefined: not sealed here, for another `state`, or too old. */
export function openLeg(handle: string, sealed: string, context: AuthServerContext): Transaction | undefined {
  const text = sealerOf(context).open(legName(handle), sealed);
  if (text === undefined) return undefined;
  const { transaction, until } = JSON.parse(text) as { readonly transaction: Transaction; readonly until: number };
  return context.now() < until ? transaction : undefined;
}

/** False: it was answered before. The mark lasts as long as the visit could be opened. */
export const markAnswered = async (handle: string, { store }: AuthServerContext): Promise<boolean> =>
  (await store.locks.acquire(`answered:${storageKeyOf(handle)}`, STEP_MS)) !== undefined;
