import { describe, expect, it } from 'vitest';
import { redeemCode, type CodeBinding, type Redemption } from './code-redemption.ts';
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
    ['with everything repeated', {}],
    ['without resource', { resources: [] }],
    ['without redirect_uri, when the client has one only', { redirectUri: undefined, hasOneRedirectUri: true }],
  ])('%s is redeemed', (_what, changes) => {
    expect(redeemCode(CODE, { ...GOOD, ...changes }, NOW)).toEqual({ ok: true, value: CODE });
  });

  it.each<[string, Partial<Redemption>, string, string]>([
    ['row 19: of another client', { clientId: 'client-2' }, 'code_client', 'invalid_grant'],
    ['row 20: other redirect_uri', { redirectUri: 'http://127.0.0.1:5174/cb' }, 'code_redirect_uri', 'invalid_grant'],
    [
      'row 20: other redirect_uri of a client with one',
      { redirectUri: 'https://x', hasOneRedirectUri: true },
      'code_redirect_uri',
      'invalid_grant',
    ],
    ['row 20: no redirect_uri of several', { redirectUri: undefined }, 'code_redirect_uri', 'invalid_grant'],
    ['row 15: no verifier', { codeVerifier: undefined }, 'verifier_missing', 'invalid_grant'],
    ['row 16: verifier of 42 characters', { codeVerifier: VERIFIER.slice(1) }, 'verifier_malformed', 'invalid_grant'],
    ['row 16: wrong verifier', { codeVerifier: 'w'.repeat(43) }, 'verifier_wrong', 'invalid_grant'],
    ['row 34: other resource', { resources: ['https://x.example/mcp'] }, 'resource_changed', 'invalid_target'],
    ['row 34: two resources', { resources: [CODE.resource, CODE.resource] }, 'resource_multiple', 'invalid_target'],
  ])('%s is burnt', (_what, changes, reason, error) => {
    expect(redeemCode(CODE, { ...GOOD, ...changes }, NOW)).toEqual({ ok: false, reason });
    expect(wireError(reason as Parameters<typeof wireError>[0])).toMatchObject({ status: 400, error });
  });

  it('row 15: without challenge is burnt, whatever the verifier', () => {
    expect(redeemCode({ ...CODE, codeChallenge: '' }, GOOD, NOW)).toEqual({ ok: false, reason: 'verifier_wrong' });
  });

  it.each([NOW + 1, NOW + 2])('row 21: is expired at %i', (now) => {
    expect(redeemCode(CODE, GOOD, now)).toEqual({ ok: false, reason: 'code_expired' });
  });
});
