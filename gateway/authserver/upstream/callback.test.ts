import { describe, expect, it } from 'vitest';
import { readCode, exactIssuer, issuerOfOrigin, type IssuerRule } from './callback.ts';
import type { Callback } from './upstream.ts';
import { clientAnswer, UpstreamError } from './upstream-error.ts';

const ISSUER = 'https://idp.example';
const promised = exactIssuer(ISSUER, true);
const optional = exactIssuer(ISSUER, false);
const byOrigin = issuerOfOrigin('https://idp.example/authorize', 'https://api.idp.example/token');

/** Returns the code, or the error for the client. */
function answerTo(callback: Callback, rule: IssuerRule): string {
  try {
    return readCode(callback, rule);
  } catch (error) {
    if (error instanceof UpstreamError) return clientAnswer(error.fault);
    throw error;
  }
}

const CASES: readonly (readonly [string, Callback, IssuerRule, string])[] = [
  ['a code', { code: 'c' }, optional, 'c'],
  ['a code with the right iss', { code: 'c', iss: ISSUER }, promised, 'c'],
  ['a foreign iss', { code: 'c', iss: 'https://evil.example' }, optional, 'page'],
  ['an iss with a trailing slash', { code: 'c', iss: `${ISSUER}/` }, optional, 'page'],
  ['an iss in capitals', { code: 'c', iss: 'HTTPS://IDP.EXAMPLE' }, optional, 'page'],
  ['an empty iss', { code: 'c', iss: '' }, optional, 'page'],
  ['the promised iss is missing', { code: 'c' }, promised, 'page'],
  ['a foreign iss with an error', { error: 'access_denied', iss: 'https://evil.example' }, optional, 'page'],
  ['an error without the promised iss', { error: 'access_denied' }, promised, 'page'],
  ['an iss of the same origin, when the issuer is unknown', { code: 'c', iss: `${ISSUER}/login/oauth` }, byOrigin, 'c'],
  ['an iss with the origin of the token endpoint', { code: 'c', iss: 'https://api.idp.example' }, byOrigin, 'c'],
  ['a foreign iss, when the issuer is unknown', { code: 'c', iss: 'https://evil.example' }, byOrigin, 'page'],
  ['an iss that is not a URL', { code: 'c', iss: 'null' }, byOrigin, 'page'],
  ['an iss without an origin', { code: 'c', iss: 'data:x' }, byOrigin, 'page'],
  ['neither code nor error', {}, optional, 'server_error'],
  ['an empty code', { code: '' }, optional, 'server_error'],
  ['access_denied', { error: 'access_denied' }, optional, 'access_denied'],
  ['login_required', { error: 'login_required' }, optional, 'access_denied'],
  ['interaction_required', { error: 'interaction_required' }, optional, 'access_denied'],
  ['consent_required', { error: 'consent_required' }, optional, 'access_denied'],
  ['an error together with a code', { error: 'access_denied', code: 'c' }, optional, 'access_denied'],
  ['an empty error', { error: '', code: 'c' }, optional, 'server_error'],
  ['invalid_scope', { error: 'invalid_scope' }, optional, 'server_error'],
  ['server_error', { error: 'server_error' }, optional, 'server_error'],
  ['temporarily_unavailable', { error: 'temporarily_unavailable' }, optional, 'temporarily_unavailable'],
  ['an unknown error', { error: '__proto__' }, optional, 'server_error'],
];

describe('a callback', () => {
  it.each(CASES)('%s', (_name, callback, rule, expected) => {
    expect(answerTo(callback, rule)).toBe(expected);
  });

  it('reports the description of the provider cleaned and truncated, and never in the message', () => {
    const said = {
      error: 'invalid_scope',
      errorDescription: `no\r\nX: y\u202Ez ${'A1-'.repeat(9)} ${'x '.repeat(1_000)}`,
    };
    const failure = expect.objectContaining({
      message: 'the provider returned an error in the callback',
      providerError: 'invalid_scope',
      providerDescription: `no??X: y?z [cut] ${'x '.repeat(91)}x`,
    });
    expect(() => readCode(said, optional)).toThrow(failure);
    expect(() => readCode({ error: 'a\nb' }, optional)).toThrow(expect.objectContaining({ providerError: undefined }));
  });
});
