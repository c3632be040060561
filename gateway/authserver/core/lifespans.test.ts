import { describe, expect, it } from 'vitest';
import { FIXED_LIFESPANS, readLifespans } from './lifespans.ts';

describe('lifespans', () => {
  it('have defaults', () => {
    expect(readLifespans()).toEqual({
      lifespans: { accessToken: 3_600, refreshToken: 604_800, code: 60 },
      problems: [],
    });
    expect(FIXED_LIFESPANS).toEqual({ loginAttempt: 1_800, upstreamLeg: 600, usedCode: 1_800 });
  });

  it.each([
    [{ access_token_lifespan: '1m' }, { accessToken: 60 }],
    [{ access_token_lifespan: '24h' }, { accessToken: 86_400 }],
    [{ access_token_lifespan: '1h30m' }, { accessToken: 5_400 }],
    [{ access_token_lifespan: '90.9s' }, { accessToken: 90 }],
    [{ access_token_lifespan: '30m', refresh_token_lifespan: '1h' }, { refreshToken: 3_600 }],
    [{ refresh_token_lifespan: '720h' }, { refreshToken: 2_592_000 }],
    [{ auth_code_lifespan: '30s' }, { code: 30 }],
    [{ auth_code_lifespan: '10m' }, { code: 600 }],
  ])('%j are allowed', (configured, seconds) => {
    expect(readLifespans(configured)).toMatchObject({ lifespans: seconds, problems: [] });
  });

  it.each([
    ['access_token_lifespan', '59s'],
    ['access_token_lifespan', '24h1s'],
    ['access_token_lifespan', '0s'],
    ['access_token_lifespan', '-1h'],
    ['access_token_lifespan', '1 hour'],
    ['access_token_lifespan', ''],
    ['refresh_token_lifespan', '59m'],
    ['refresh_token_lifespan', '721h'],
    ['auth_code_lifespan', '29s'],
    ['auth_code_lifespan', '10m1s'],
  ] as const)('%s=%j is a problem', (member, text) => {
    expect(readLifespans({ [member]: text }).problems).toEqual([
      expect.objectContaining({ reason: 'InvalidLifespan', path: `token_lifespans.${member}` }),
    ]);
  });

  it.each([
    { access_token_lifespan: '2h', refresh_token_lifespan: '2h' },
    { access_token_lifespan: '24h', refresh_token_lifespan: '1h' },
  ])('%j: a refresh token must outlive its access token', (configured) => {
    expect(readLifespans(configured).problems.map(({ path }) => path)).toEqual([
      'token_lifespans.refresh_token_lifespan',
    ]);
  });

  it('report every problem', () => {
    const configured = { access_token_lifespan: '1s', refresh_token_lifespan: '1s', auth_code_lifespan: '1s' };
    expect(readLifespans(configured).problems).toHaveLength(3);
  });
});
