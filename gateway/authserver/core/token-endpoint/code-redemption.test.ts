import { describe, expect, it } from 'vitest';
import { redeemCode, type CodeBinding, type Redemption } from './redemption.ts';
import { wireError } from '../refusal.ts';

const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const NOW = 1_000_000;

const CODE: CodeBinding & { readonly tsid: string } = {
  clientId: 'client-1',
  redirectUri: 'http://127.0.0.1:5173/cb',
  codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  resource: 'https://gateway.example/mcp',
  expiresAt: NOW + 1,
  tsid: 't-1',
};

const GOOD: Redemption = {
  clientId: 'client-1',
  hasOneRedirectUri: false,
  redirectUri: CODE.redirectUri,
  codeVerifier: VERIFIER,
  resources: [CODE.resource],
};

describe('a code', () => {
  it.each<[string, Partial<Redemption>]>([
    ['with all parameters repeated', {}],
    ['without resource', { resources: [] }],
    ['without redirect_uri, when the client has only one', { redirectUri: undefined, hasOneRedirectUri: true }],
  ])('%s is redeemed', (_what, changes) => {
    expect(redeemCode(CODE, { ...GOOD, ...changes }, NOW)).toEqual({ ok: true, value: CODE });
  });

  it.each<[string, Partial<Redemption>, string, string]>([
    ['another client', { clientId: 'client-2' }, 'code_client', 'invalid_grant'],
    ['another redirect_uri', { redirectUri: 'http://127.0.0.1:5174/cb' }, 'code_redirect_uri', 'invalid_grant'],
    [
      'another redirect_uri of a client with only one',
      { redirectUri: 'https://x', hasOneRedirectUri: true },
      'code_redirect_uri',
      'invalid_grant',
    ],
    ['no redirect_uri when the client has several', { redirectUri: undefined }, 'code_redirect_uri', 'invalid_grant'],
    ['no verifier', { codeVerifier: undefined }, 'verifier_missing', 'invalid_grant'],
    ['verifier of 42 characters', { codeVerifier: VERIFIER.slice(1) }, 'verifier_malformed', 'invalid_grant'],
    ['wrong verifier', { codeVerifier: 'w'.repeat(43) }, 'verifier_wrong', 'invalid_grant'],
    ['another resource', { resources: ['https://x.example/mcp'] }, 'resource_changed', 'invalid_target'],
    ['two resources', { resources: [CODE.resource, CODE.resource] }, 'resource_multiple', 'invalid_target'],
  ])('is rejected: %s', (_what, changes, reason, error) => {
    expect(redeemCode(CODE, { ...GOOD, ...changes }, NOW)).toEqual({ ok: false, reason });
    expect(wireError(reason as Parameters<typeof wireError>[0])).toMatchObject({ status: 400, error });
  });

  it('is rejected without a challenge, for any verifier', () => {
    expect(redeemCode({ ...CODE, codeChallenge: '' }, GOOD, NOW)).toEqual({ ok: false, reason: 'verifier_wrong' });
  });

  it.each([NOW + 1, NOW + 2])('has expired at %i', (now) => {
    expect(redeemCode(CODE, GOOD, now)).toEqual({ ok: false, reason: 'code_expired' });
  });
});
