import { backoffMs } from '../../kit/time.ts';
/** State of the login at a remote server. `reason` is a sentence for the user. */
export type RemoteLoginState =
  | { readonly kind: 'authenticated' | 'not_required' }
  /** A login attempt waits for the user at `loginUrl`. */
  | { readonly kind: 'login_required'; readonly reason: string; readonly loginUrl: string }
  /** Refreshes fail for passing reasons. */
  | { readonly kind: 'auth_retrying'; readonly reason: string }
  /** The user must start a new login. */
  | { readonly kind: 'unauthenticated'; readonly reason: string };

export type Credential =
  | { readonly kind: 'none' | 'ended'; readonly reason: string }
  | { readonly kind: 'not_required' | 'valid' }
  /** Refreshes have failed since `since`, the last time at `at` (ms since the epoch). */
  | {
      readonly kind: 'failing';
      readonly since: number;
      readonly at: number;
      readonly failures: number;
      readonly reason: string;
    };

export interface Phase {
  readonly credential: Credential;
  /** URL of the login attempt that waits for the user. */
  readonly loginUrl?: string;
}

export type LoginEvent =
  | { readonly kind: 'login_not_required' }
  | { readonly kind: 'login_started'; readonly url: string }
  | { readonly kind: 'login_failed'; readonly reason: string }
  /** A login or a refresh has brought tokens. */
  | { readonly kind: 'token_received'; readonly by: 'login' | 'refresh' }
  | { readonly kind: 'refresh_failed'; readonly at: number; readonly reason: string }
  /** The authorization server rejects the refresh token, or the remote server rejects a new access token. */
  | { readonly kind: 'rejected'; readonly reason: string };

const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 120_000;
/** Failures of this time do not change the state. */
const QUIET_MS = 300_000;
const SLOW_PAUSE_MS = 600_000;
const GIVE_UP_MS = 86_400_000;

export const FIRST_PHASE: Phase = { credential: { kind: 'none', reason: 'the remote server requires a login' } };

/** Returns the phase after an event. */
export function nextPhase(phase: Phase, event: LoginEvent): Phase {
  const { credential } = phase;
  switch (event.kind) {
    case 'login_not_required':
      return { credential: { kind: 'not_required' } };
    case 'login_started':
      return { credential, loginUrl: event.url };
    case 'login_failed':
      return { credential: isMissing(credential) ? { ...credential, reason: event.reason } : credential };
    case 'token_received':
      return event.by === 'login' ? { credential: { kind: 'valid' } } : { ...phase, credential: { kind: 'valid' } };
    case 'refresh_failed':
      return { ...phase, credential: afterFailure(credential, event) };
    case 'rejected':
      return { ...phase, credential: { kind: 'ended', reason: event.reason } };
  }
}

function afterFailure(credential: Credential, { at, reason }: { readonly at: number; readonly reason: string }) {
  if (credential.kind === 'ended') return credential;
  const { since, failures } = credential.kind === 'failing' ? credential : { since: at, failures: 0 };
  if (at - since >= GIVE_UP_MS) return { kind: 'ended', reason: `no refresh for 24 h: ${reason}` } as const;
  return { kind: 'failing', since, at, failures: failures + 1, reason } as const;
}

/** Returns the pause until the next refresh: 10 s, 20 s ... 2 min for 5 min, then 10 min, and one at the end of 24 h. */
export function pauseMs({ since, at, failures }: Extract<Credential, { kind: 'failing' }>): number {
  const elapsed = at - since;
  if (elapsed >= QUIET_MS) return Math.min(SLOW_PAUSE_MS, GIVE_UP_MS - elapsed);
  return backoffMs(failures, FIRST_PAUSE_MS, Math.min(LONGEST_PAUSE_MS, QUIET_MS - elapsed));
}

/** Returns the state that users see. */
export function stateOf({ credential, loginUrl }: Phase): RemoteLoginState {
  switch (credential.kind) {
    case 'not_required':
      return { kind: 'not_required' };
    case 'valid':
      return { kind: 'authenticated' };
    case 'failing': {
      const { since, at, reason } = credential;
      return at - since < QUIET_MS ? { kind: 'authenticated' } : { kind: 'auth_retrying', reason };
    }
    case 'none':
    case 'ended': {
      const { reason } = credential;
      return loginUrl === undefined
        ? { kind: 'unauthenticated', reason }
        : { kind: 'login_required', reason, loginUrl };
    }
  }
}

const isMissing = (credential: Credential): credential is Extract<Credential, { kind: 'none' | 'ended' }> =>
  credential.kind === 'none' || credential.kind === 'ended';
