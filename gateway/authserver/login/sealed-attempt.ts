import type { AuthServerContext } from '../context.ts';
import { storageKeyOf, type SecretRing } from '../core/opaque-token.ts';
import type { LoginAttempt } from '../storage/records.ts';
import { createSealer, type Sealer } from '../storage/sealing.ts';
import { STEP_MS } from './transition.ts';

/** Purpose that the seal of a login attempt before consent is bound to. A new name would break running logins. */
const NAME = 'visit';
/** Part of every sealed text. No handle of the store contains it. */
const MARK = '.';

const sealers = new WeakMap<() => SecretRing, Sealer>();

function sealerOf({ secrets }: Pick<AuthServerContext, 'secrets'>): Sealer {
  const sealer = sealers.get(secrets) ?? createSealer(secrets);
  sealers.set(secrets, sealer);
  return sealer;
}

/**
 * Seals a login attempt before consent, so that the form of the consent page can carry it. Attempts that are started and
 * abandoned then take no room in the store.
 */
export const sealAttempt = (attempt: LoginAttempt, context: AuthServerContext): string =>
  sealerOf(context).seal(NAME, JSON.stringify(attempt));

export const isSealed = (handle: string): boolean => handle.includes(MARK);

/** Returns undefined for a text that this server has not sealed, or that is too old. */
export function openSealed(handle: string, context: AuthServerContext): LoginAttempt | undefined {
  const text = sealerOf(context).open(NAME, handle);
  const attempt = text === undefined ? undefined : (JSON.parse(text) as LoginAttempt);
  return attempt && context.now() - attempt.createdAt < STEP_MS ? attempt : undefined;
}

const legName = (handle: string): string => `leg ${storageKeyOf(handle)}`;

/** Content of a sealed leg. Its first member keeps its name, because a new one would break running logins. */
interface SealedLeg {
  readonly transaction: LoginAttempt;
  /** ms since the epoch. */
  readonly until: number;
}

/** Seals a login attempt with a running leg for a cookie, when the store has no room. Only this handle opens it. */
export function sealLeg(handle: string, attempt: LoginAttempt, until: number, context: AuthServerContext): string {
  const content: SealedLeg = { transaction: attempt, until };
  return sealerOf(context).seal(legName(handle), JSON.stringify(content));
}

/** Returns undefined for a text that this server has not sealed, that has another `state`, or that is too old. */
export function openLeg(handle: string, sealed: string, context: AuthServerContext): LoginAttempt | undefined {
  const text = sealerOf(context).open(legName(handle), sealed);
  if (text === undefined) return undefined;
  const { transaction, until } = JSON.parse(text) as SealedLeg;
  return context.now() < until ? transaction : undefined;
}

/** Marks a login attempt as answered for as long as it can be opened. Returns false if it was answered before. */
export const markAnswered = async (handle: string, { store }: AuthServerContext): Promise<boolean> =>
  (await store.locks.acquire(`answered:${storageKeyOf(handle)}`, STEP_MS)) !== undefined;
