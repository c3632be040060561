import { expect, it } from 'vitest';
import { FIRST_PHASE, nextPhase, pauseMs, stateOf, type LoginEvent, type Phase } from './login-phase.ts';

const LOGIN = { kind: 'token_received', by: 'login' } as const;
const REFRESH = { kind: 'token_received', by: 'refresh' } as const;
const URL = 'https://idp.example.com/authorize';
const STARTED = { kind: 'login_started', url: URL } as const;
const failed = (at: number): LoginEvent => ({ kind: 'refresh_failed', at, reason: 'the token endpoint is down' });

const after = (...events: readonly LoginEvent[]): Phase => events.reduce(nextPhase, FIRST_PHASE);
const kindAfter = (...events: readonly LoginEvent[]) => stateOf(after(...events)).kind;

it('starts unauthenticated, shows the URL of an attempt, and ends authenticated', () => {
  expect(kindAfter()).toBe('unauthenticated');
  expect(stateOf(after(STARTED))).toEqual({
    ...{ kind: 'login_required', loginUrl: URL, reason: 'the remote server requires a login' },
  });
  expect(kindAfter(STARTED, LOGIN)).toBe('authenticated');
  expect(kindAfter({ kind: 'login_not_required' })).toBe('not_required');
});

it('gives the reason of a failed attempt', () => {
  const state = stateOf(after(STARTED, { kind: 'login_failed', reason: 'nobody logged in' }));
  expect(state).toEqual({ kind: 'unauthenticated', reason: 'nobody logged in' });
});

it('keeps working tokens while a login attempt runs, fails or a refresh succeeds', () => {
  expect(kindAfter(STARTED, LOGIN, STARTED)).toBe('authenticated');
  expect(kindAfter(LOGIN, STARTED, { kind: 'login_failed', reason: 'denied' })).toBe('authenticated');
  expect(after(LOGIN, STARTED, REFRESH).loginUrl).toBe(URL);
});

it('is unauthenticated at once when the authorization server rejects the refresh token', () => {
  const rejected = { kind: 'rejected', reason: 'invalid_grant' } as const;
  expect(stateOf(after(LOGIN, rejected))).toEqual({ kind: 'unauthenticated', reason: 'invalid_grant' });
  expect(kindAfter(LOGIN, rejected, failed(1))).toBe('unauthenticated');
  expect(kindAfter(LOGIN, rejected, STARTED)).toBe('login_required');
});

it('retries for 5 minutes with growing pauses, then every 10 minutes, and gives up after 24 hours', () => {
  let phase = after(LOGIN);
  const tries: (readonly [number, string])[] = [];
  for (let at = 0; ;) {
    phase = nextPhase(phase, failed(at));
    tries.push([at / 1_000, stateOf(phase).kind]);
    if (phase.credential.kind !== 'failing') break;
    at += pauseMs(phase.credential);
  }
  expect(tries.slice(0, 8)).toEqual([
    ...[0, 10, 30, 70, 150, 270].map((second) => [second, 'authenticated']),
    ...[300, 900].map((second) => [second, 'auth_retrying']),
  ]);
  expect(tries.at(-1)).toEqual([86_400, 'unauthenticated']);
  expect(tries).toHaveLength(6 + 144 + 1);
});

it('counts failures anew after a refresh succeeded', () => {
  const phase = after(LOGIN, failed(0), failed(300_000), REFRESH, failed(600_000));
  expect(stateOf(phase).kind).toBe('authenticated');
  expect(phase.credential).toMatchObject({ since: 600_000, failures: 1 });
});
