import type { AuthorizationRequest } from '../core/authorization.ts';
import { FIXED_LIFESPANS } from '../core/lifespans.ts';
import type { Leg, Login, LoginAttempt } from '../storage/records.ts';
import type { AuthServerContext } from '../context.ts';

/** Next step of a login attempt. */
type NextStep =
  | { readonly kind: 'leg'; readonly provider: string }
  /** Every leg is done or skipped: the code can be issued. */
  | { readonly kind: 'finish'; readonly login: Login };

const WHOLE_MS = FIXED_LIFESPANS.loginAttempt * 1_000;
/** Time that the browser has for one step. */
export const STEP_MS = FIXED_LIFESPANS.upstreamLeg * 1_000;

/** Creates the login attempt of a validated request. It belongs to no browser yet. `address` is the key of a known client address. */
export function beginAttempt(
  request: AuthorizationRequest,
  {
    tsid,
    providers,
    now,
    address,
  }: {
    readonly tsid: string;
    readonly providers: readonly string[];
    readonly now: number;
    readonly address: string | undefined;
  },
): LoginAttempt {
  const { clientId, redirectUri, state, codeChallenge, scopes, resource, nonce, reauthenticate, askConsent } = request;
  return {
    ...{ clientId, scopes, resource, tsid, redirectUri, codeChallenge },
    ...(state !== undefined && { state }),
    ...(nonce !== undefined && { nonce }),
    createdAt: now,
    ...(address !== undefined && { address }),
    ...(reauthenticate && { forceLogin: true }),
    ...(askConsent && { askConsent: true }),
    remaining: providers,
  };
}

/** Returns true before the first leg. The handle is then the id of the consent page, and later the `state` of a leg. */
export const isBeforeConsent = ({ leg, login }: LoginAttempt): boolean => leg === undefined && login === undefined;

/** Binds a login attempt to the first browser that opens its consent page. */
export function bindToBrowser(attempt: LoginAttempt, cookieHash: string): LoginAttempt {
  if (attempt.cookieHash !== undefined) throw new Error('the login attempt belongs to a browser already');
  return { ...attempt, cookieHash };
}

/** Returns the step after consent or after a leg. The first leg is never skipped, because it identifies the user. */
export function nextStep({ leg, login, remaining }: LoginAttempt): NextStep {
  if (leg) throw new Error('a leg is under way');
  const [provider] = remaining;
  if (provider !== undefined) return { kind: 'leg', provider };
  if (!login) throw new Error('no leg has identified the user');
  return { kind: 'finish', login };
}

/** Starts the leg at a provider. */
export function beginLeg(attempt: LoginAttempt, leg: Leg): LoginAttempt {
  const { cookieHash, leg: running, login, remaining } = attempt;
  if (cookieHash === undefined) throw new Error('the login attempt belongs to no browser');
  if (running) throw new Error('a leg is under way');
  if (!remaining.includes(leg.provider)) throw new Error('the login attempt has no such leg left');
  if (!login && remaining[0] !== leg.provider) throw new Error('the first provider comes first');
  return { ...attempt, leg, remaining: remaining.filter((name) => name !== leg.provider) };
}

/** Ends the first leg, which identifies the user. Of the later legs only those of `included` remain. */
export function endFirstLeg(attempt: LoginAttempt, login: Login, included: readonly string[]): LoginAttempt {
  const { leg, login: known, remaining, ...others } = attempt;
  if (!leg) throw new Error('no leg is under way');
  if (known) throw new Error('the first leg has identified the user already');
  return { ...others, login, remaining: remaining.filter((name) => included.includes(name)) };
}

/** Ends a later leg, which does not change the user. */
export function endLeg(attempt: LoginAttempt): LoginAttempt {
  const { leg, ...others } = attempt;
  if (!leg) throw new Error('no leg is under way');
  if (!others.login) throw new Error('the first leg must identify the user');
  return others;
}

/** Skips the leg of a provider whose tokens come from an earlier login of the same user. */
export function skipLeg(attempt: LoginAttempt, provider: string): LoginAttempt {
  const { leg, login, remaining } = attempt;
  if (leg || !login) throw new Error('only a later leg can be skipped, and only between legs');
  return { ...attempt, remaining: remaining.filter((name) => name !== provider) };
}

/** Moves the legs of these providers to the end. Their tokens may come from an earlier login once the other legs are done. */
export function postponeLegs(attempt: LoginAttempt, providers: readonly string[]): LoginAttempt {
  const { leg, login, remaining } = attempt;
  if (leg || !login) throw new Error('only later legs can be postponed, and only between legs');
  const isLate = (name: string): boolean => providers.includes(name);
  return { ...attempt, remaining: [...remaining.filter((name) => !isLate(name)), ...remaining.filter(isLate)] };
}

/** Returns the time left for the login attempt; 0 or less when it has expired. */
export const remainingMs = ({ createdAt }: LoginAttempt, now: number): number => createdAt + WHOLE_MS - now;

/** Returns the time that the browser has for its next step. */
export const stepMs = (attempt: LoginAttempt, now: number): number => Math.min(STEP_MS, remainingMs(attempt, now));

/** 128 bits, so that nobody can guess it. */
const TSID_BYTES = 16;

/** Creates the handle of the upstream tokens of one login. */
export const newTsid = (random: AuthServerContext['random']): string => random(TSID_BYTES).toString('base64url');
