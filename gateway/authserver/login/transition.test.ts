import { describe, expect, it } from 'vitest';
import type { AuthorizationRequest } from '../core/authorization.ts';
import type { Login, LoginAttempt } from '../storage/records.ts';
import {
  beginAttempt,
  beginLeg,
  bindToBrowser,
  endLeg,
  endFirstLeg,
  isBeforeConsent,
  skipLeg,
  nextStep,
  postponeLegs,
  remainingMs,
  stepMs,
} from './transition.ts';

const REQUEST: AuthorizationRequest = {
  clientId: 'vcl_1',
  redirectUri: 'https://client.example/cb',
  state: 's',
  codeChallenge: 'c'.repeat(43),
  scopes: ['openid'],
  resource: 'https://gateway.example/mcp',
  nonce: undefined,
  reauthenticate: false,
  askConsent: false,
};
const LOGIN: Login = { userId: 'user-1', authTime: 7 };
const MINUTE = 60_000;

const begun = (providers: readonly string[], request: Partial<AuthorizationRequest> = {}): LoginAttempt =>
  beginAttempt({ ...REQUEST, ...request }, { tsid: 'tsid-1', providers, now: 1_000, address: undefined });
const leg = (provider: string) => ({ provider, codeVerifier: `v-${provider}`, nonce: `n-${provider}` });

describe('a login attempt', () => {
  it('starts with the parameters of the request and without a browser', () => {
    expect(begun(['a', 'b'])).toEqual({
      clientId: 'vcl_1',
      scopes: ['openid'],
      resource: 'https://gateway.example/mcp',
      tsid: 'tsid-1',
      redirectUri: 'https://client.example/cb',
      codeChallenge: 'c'.repeat(43),
      state: 's',
      createdAt: 1_000,
      remaining: ['a', 'b'],
    });
    const whole = begun(['a'], { reauthenticate: true, askConsent: true, nonce: 'n', state: undefined });
    expect(whole).toMatchObject({ forceLogin: true, askConsent: true, nonce: 'n' });
    expect(Object.keys(whole)).not.toContain('state');
  });

  it('expires after 10 minutes for a step and 30 minutes in all', () => {
    const attempt = begun(['a']);
    expect(stepMs(attempt, 1_000)).toBe(10 * MINUTE);
    expect(stepMs(attempt, 1_000 + 25 * MINUTE)).toBe(5 * MINUTE);
    expect(stepMs(attempt, 1_000 + 30 * MINUTE)).toBe(0);
    expect(remainingMs(attempt, 1_000 + MINUTE)).toBe(29 * MINUTE);
  });

  it('stays bound to its first browser', () => {
    const bound = bindToBrowser(begun(['a']), 'hash');
    expect(bound.cookieHash).toBe('hash');
    expect(() => bindToBrowser(bound, 'other')).toThrow('belongs to a browser already');
    expect(() => beginLeg(begun(['a']), leg('a'))).toThrow('belongs to no browser');
  });

  it('is before consent until the first leg starts', () => {
    const bound = bindToBrowser(begun(['a', 'b']), 'hash');
    expect([begun(['a']), bound].map(isBeforeConsent)).toEqual([true, true]);
    const first = beginLeg(bound, leg('a'));
    const after = endFirstLeg(first, LOGIN, ['b']);
    expect([first, after, beginLeg(after, leg('b'))].map(isBeforeConsent)).toEqual([false, false, false]);
  });

  it('cannot skip the first provider', () => {
    const bound = bindToBrowser(begun(['a', 'b']), 'hash');
    expect(() => beginLeg(bound, leg('b'))).toThrow('the first provider comes first');
    expect(() => skipLeg(bound, 'a')).toThrow('only a later leg can be skipped');
    expect(() => postponeLegs(bound, ['a'])).toThrow('only later legs can be postponed');
    expect(() => endLeg(beginLeg(bound, leg('a')))).toThrow('must identify the user');
    expect(() => nextStep(bindToBrowser(begun([]), 'hash'))).toThrow('no leg has identified the user');
  });

  it('runs one leg at a time, and only at providers of the chain', () => {
    const running = beginLeg(bindToBrowser(begun(['a', 'b']), 'hash'), leg('a'));
    expect(running.remaining).toEqual(['b']);
    expect(() => beginLeg(running, leg('b'))).toThrow('under way');
    expect(() => nextStep(running)).toThrow('under way');
    const later = endFirstLeg(running, LOGIN, ['b']);
    expect(() => beginLeg(later, leg('c'))).toThrow('no such leg left');
    expect(() => beginLeg(later, leg('a'))).toThrow('no such leg left');
    expect(() => endLeg(later)).toThrow('no leg is under way');
    expect(() => endFirstLeg(later, LOGIN, [])).toThrow('no leg is under way');
  });

  it('never changes its user', () => {
    const later = beginLeg(
      endFirstLeg(beginLeg(bindToBrowser(begun(['a', 'b']), 'hash'), leg('a')), LOGIN, ['b']),
      leg('b'),
    );
    expect(() => endFirstLeg(later, { ...LOGIN, userId: 'user-2' }, [])).toThrow('identified the user already');
  });
});

/** Yields pseudo-random numbers, the same in every run. */
function* numbers(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state >>> 16; // the lower bits repeat soon
  }
}

it.each(Array.from({ length: 200 }, (_, seed) => seed))(
  'visits each provider at most once and then finishes: chain %i',
  (seed) => {
    const next = numbers(seed + 1);
    const draw = (below: number): number => next.next().value % below;
    const providers = Array.from({ length: 1 + draw(8) }, (_, index) => `p${String(index)}`);
    const allowed = providers.slice(1).filter(() => draw(3) > 0);
    let attempt = bindToBrowser(begun(providers), 'hash');
    const visited: string[] = [];
    const skipped: string[] = [];
    for (let rounds = 0; rounds < 50; rounds += 1) {
      const step = nextStep(attempt);
      if (step.kind === 'finish') {
        expect(step.login).toBe(LOGIN);
        break;
      }
      const late = attempt.remaining.filter(() => draw(3) === 0);
      const [postpones, leavesOut] = [draw(4) === 0, draw(4) === 0];
      if (attempt.login && postpones) attempt = postponeLegs(attempt, late);
      else if (attempt.login && leavesOut) {
        attempt = skipLeg(attempt, step.provider);
        skipped.push(step.provider);
      } else {
        const running = beginLeg(attempt, leg(step.provider));
        expect(running.leg).toEqual(leg(step.provider));
        visited.push(step.provider);
        attempt = running.login ? endLeg(running) : endFirstLeg(running, LOGIN, allowed);
        expect([attempt.leg, attempt.login]).toEqual([undefined, LOGIN]);
      }
    }
    expect(nextStep(attempt)).toEqual({ kind: 'finish', login: LOGIN });
    expect(visited[0]).toBe('p0');
    const seen = [...visited, ...skipped];
    expect(seen.toSorted()).toEqual(['p0', ...allowed].toSorted());
    expect(attempt).toEqual({ ...begun(providers), remaining: [], cookieHash: 'hash', login: LOGIN });
  },
);
