import { describe, expect, it } from 'vitest';
import { readAssertionClaims } from './client-assertion.ts';

const CLIENT = 'https://client.example/client.json';
const ISSUER = 'https://gateway.example';
const TOKEN_URL = `${ISSUER}/oauth/token`;
const NOW_S = 1_800_000_000;
const HEADER = { alg: 'ES256', kid: 'k1' };
const CLAIMS = { iss: CLIENT, sub: CLIENT, aud: ISSUER, exp: NOW_S + 60, jti: 'j1' };

const read = (claims: object = {}, header: object = {}) =>
  readAssertionClaims(
    { ...HEADER, ...header },
    { ...CLAIMS, ...claims },
    { clientId: CLIENT, audiences: [ISSUER, TOKEN_URL], algorithms: ['ES256', 'PS256'], now: NOW_S * 1_000 },
  );

describe('the claims of an assertion', () => {
  it.each<[string, object, object?]>([
    ['the issuer as audience', {}],
    ['the endpoint as audience', { aud: TOKEN_URL }],
    ['a list of one audience', { aud: [ISSUER] }],
    ['no kid', {}, { kid: undefined }],
    ['the generic type JWT', {}, { typ: 'JWT' }],
    ['the type of client assertions', {}, { typ: 'application/client-authentication+jwt' }],
    ['issued now and valid from now', { iat: NOW_S, nbf: NOW_S }],
    ['a clock that is 30 s ahead', { iat: NOW_S + 30, nbf: NOW_S + 30, exp: NOW_S + 330 }],
    ['a clock that is 29 s behind', { exp: NOW_S - 29 }],
    ['half seconds', { iat: NOW_S - 0.5, exp: NOW_S + 0.5 }],
  ])('are accepted: %s', (_, claims, header) => {
    const { exp = CLAIMS.exp } = claims as { exp?: number };
    expect(read(claims, header)).toEqual({ ok: true, claims: { jti: 'j1', exp } });
  });

  it.each<[string, string, object, object?]>([
    ['assertion_algorithm', 'none', {}, { alg: 'none' }],
    ['assertion_algorithm', 'a shared secret', {}, { alg: 'HS256' }],
    ['assertion_algorithm', 'an algorithm that the client does not use', {}, { alg: 'RS256' }],
    ['assertion_header', 'critical members', {}, { crit: ['b64'], b64: false }],
    ['assertion_header', 'the type of an access token', {}, { typ: 'at+jwt' }],
    ['assertion_header', 'the type of a DPoP proof', {}, { typ: 'dpop+jwt' }],
    ['assertion_header', 'a type that is not a string', {}, { typ: 7 }],
    ['assertion_header', 'a kid that is not a string', {}, { kid: ['k1'] }],
    ['assertion_header', 'a long kid', {}, { kid: 'k'.repeat(1_025) }],
    ['assertion_client', 'another issuer', { iss: 'https://client.example/other.json' }],
    ['assertion_client', 'no issuer', { iss: undefined }],
    ['assertion_client', 'another subject', { sub: 'ann' }],
    ['assertion_audience', 'no audience', { aud: undefined }],
    ['assertion_audience', 'another server', { aud: 'https://other.example' }],
    ['assertion_audience', 'the issuer with a slash', { aud: `${ISSUER}/` }],
    ['assertion_audience', 'another endpoint', { aud: `${ISSUER}/oauth/revoke` }],
    ['assertion_audience', 'two audiences', { aud: [ISSUER, 'https://other.example'] }],
    ['assertion_audience', 'the same audience twice', { aud: [ISSUER, ISSUER] }],
    ['assertion_audience', 'an empty list', { aud: [] }],
    ['assertion_audience', 'a nested list', { aud: [[ISSUER]] }],
    ['assertion_expired', 'no end', { exp: undefined }],
    ['assertion_expired', 'exp as a string', { exp: String(NOW_S + 60) }],
    ['assertion_expired', 'exp in the past', { exp: NOW_S - 30 }],
    ['assertion_expired', 'no number', { exp: NaN }],
    ['assertion_too_long', 'exp in 331 s', { exp: NOW_S + 331 }],
    ['assertion_too_long', 'exp in the far future', { exp: 1e300 }],
    ['assertion_not_yet', 'nbf in the future', { nbf: NOW_S + 31 }],
    ['assertion_not_yet', 'iat in the future', { iat: NOW_S + 31 }],
    ['assertion_not_yet', 'nbf as a string', { nbf: '0' }],
    ['assertion_jti', 'no id', { jti: undefined }],
    ['assertion_jti', 'an empty id', { jti: '' }],
    ['assertion_jti', 'a number as id', { jti: 7 }],
    ['assertion_jti', 'a long id', { jti: 'j'.repeat(1_025) }],
  ])('are rejected as %s: %s', (problem, _, claims, header) => {
    expect(read(claims, header)).toEqual({ ok: false, problem });
  });
});
