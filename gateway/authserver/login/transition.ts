import type { AuthorizationRequest } from '../core/authorization-request.ts';
import { FIXED_LIFESPANS } from '../core/lifespans.ts';
import type { Leg, Login, LoginAttempt } from '../storage/records.ts';

/** What a login attempt stands before. */
export type NextStep =
  | { readonly kind: 'leg'; readonly provider: string }
  /** Every provider was visited or left out: time for the code. */
  | { readonly kind: 'finish'; readonly login: Login };

const WHOLE_MS = FIXED_LIFESPANS.loginAttempt * 1_000;
/** How long the browser may take for one step. */
export const STEP_MS = FIXED_LIFESPANS.upstreamLeg * 1_000;

/** The login attempt that a checked request begins. It belongs to no browser yet. */
export function begin(
  request: AuthorizationRequest,
  { tsid, providers, now }: { readonly tsid: string; readonly providers: readonly string[]; readonly now: number },
): LoginAttempt {
  const { clientId, redirectUri, state, codeChallenge, scopes, resource, nonce, reauthenticate, askConsent } = request;
  return {
    ...{ clientId, scopes, resource, tsid, redirectUri, codeChallenge },
    ...(state !== undefined && { state }),
    ...(nonce !== undefined && { nonce }),
    createdAt: now,
    ...(reauthenticate && { forceLogin: true }),
    ...(askConsent && { askConsent: true }),
    remaining: providers,
  };
}

/** The handle of such a login attempt is the id of its consent page; that of any other is the `state` of a leg. */
export const isBeforeConsent = ({ leg, login }: LoginAttempt): boolean => leg === undefined && login === undefined;

/** The first browser that opens the consent page is the one that the login attempt belongs to. */
export function bind(attempt: LoginAttempt, cookieHash: string): LoginAttempt {
  if (attempt.cookieHash !== undefined) throw new Error('the login attempt belongs to a browser already');
  return { ...attempt, cookieHash };
}

/** After consent, and after each leg. The first provider is never left out: it says who the user is. */
export function nextStep({ leg, login, remaining }: LoginAttempt): NextStep {
  if (leg) throw new Error('a leg is under way');
  const [provider] = remaining;
  if (provider !== undefined) return { kind: 'leg', provider };
  if (!login) throw new Error('no provider has said who the user is');
  return { kind: 'finish', login };
}

/** The browser is sent to the provider. */
export function beginLeg(attempt: LoginAttempt, leg: Leg): LoginAttempt {
  const { cookieHash, leg: running, login, remaining } = attempt;
  if (cookieHash === undefined) throw new Error('the login attempt belongs to no browser');
  if (running) throw new Error('a leg is under way');
  if (!remaining.includes(leg.provider)) throw new Error('the provider is not to be visited');
  if (!login && remaining[0] !== leg.provider) throw new Error('the first provider comes first');
  return { ...attempt, leg, remaining: remaining.filter((name) => name !== leg.provider) };
}

/** The first provider has said who the user is, and with it which of the others are visited. */
export function identify(attempt: LoginAttempt, login: Login, included: readonly string[]): LoginAttempt {
  const { leg, login: known, remaining, ...others } = attempt;
  if (!leg) throw new Error('no leg is under way');
  if (known) throw new Error('who the user is was settled by the first leg');
  return { ...others, login, remaining: remaining.filter((name) => included.includes(name)) };
}

/** A later provider has given its tokens; who the user is does not change by it. */
export function endLeg(attempt: LoginAttempt): LoginAttempt {
  const { leg, ...others } = attempt;
  if (!leg) throw new Error('no leg is under way');
  if (!others.login) throw new Error('the first leg must say who the user is');
  return others;
}

/** The tokens of this provider were taken over from an earlier login of the same user. */
export function skipLeg(attempt: LoginAttempt, provider: string): LoginAttempt {
  const { leg, login, remaining } = attempt;
  if (leg || !login) throw new Error('a provider is left out between legs only, and never the first one');
  return { ...attempt, remaining: remaining.filter((name) => name !== provider) };
}

/** These come last: their tokens may be taken over when the others have been visited. */
export function postponeLegs(attempt: LoginAttempt, providers: readonly string[]): LoginAttempt {
  const { leg, login, remaining } = attempt;
  if (leg || !login) throw new Error('the order changes between legs only, and never for the first one');
  const isLate = (name: string): boolean => providers.includes(name);
  return { ...attempt, remaining: [...remaining.filter((name) => !isLate(name)), ...remaining.filter(isLate)] };
}

/** How long the login attempt may still take; not above 0: it is over. */
export const remainingMs = ({ createdAt }: LoginAttempt, now: number): number => createdAt + WHOLE_MS - now;

/** How long the browser may take for its next step. */
export const stepMs = (attempt: LoginAttempt, now: number): number => Math.min(STEP_MS, remainingMs(attempt, now));
