import { describe, expect, it } from 'vitest';
import { codeOf, exactIssuer, issuerOfOrigin, type IssuerRule } from './callback.ts';
import type { Callback } from './upstream.ts';
import { clientAnswer, UpstreamError } from './upstream-error.ts';

const ISSUER = 'https://idp.example';
const promised = exactIssuer(ISSUER, true);
const optional = exactIssuer(ISSUER, false);
const byOrigin = issuerOfOrigin('https://idp.example/authorize', 'https://api.idp.example/token');

/** The code, or what the client is told. */
function answerTo(callback: Callback, rule: IssuerRule): string {
  try {
    return codeOf(callback, rule);
  } catch (error) {
    if (error instanceof UpstreamError) return clientAnswer(error.fault);
    throw error;
  }
}

const CASES: readonly (readonly [string, Callback, IssuerRule, string])[] = [
  ['a code', { code: 'c' }, optional, 'c'],
  ['a code with the right iss', { code: 'c', iss: ISSUER }, promised, 'c'],
  ['row 29: a foreign iss', { code: 'c', iss: 'https://evil.example' }, optional, 'page'],
  ['row 29: an iss with a slash more', { code: 'c', iss: `${ISSUER}/` }, optional, 'page'],
  ['row 29: an iss in capitals', { code: 'c', iss: 'HTTPS://IDP.EXAMPLE' }, optional, 'page'],
  ['row 29: an empty iss', { code: 'c', iss: '' }, optional, 'page'],
  ['row 29: the promised iss is missing', { code: 'c' }, promised, 'page'],
  ['row 29: a foreign iss beside an error', { error: 'access_denied', iss: 'https://evil.example' }, optional, 'page'],
  ['an error without the promised iss', { error: 'access_denied' }, promised, 'page'],
  ['an iss of the origin, where there is no issuer', { code: 'c', iss: `${ISSUER}/login/oauth` }, byOrigin, 'c'],
  ['an iss of the origin of the token endpoint', { code: 'c', iss: 'https://api.idp.example' }, byOrigin, 'c'],
  ['row 29: a foreign iss, where there is no issuer', { code: 'c', iss: 'https://evil.example' }, byOrigin, 'page'],
  ['row 29: an iss that is no URL', { code: 'c', iss: 'null' }, byOrigin, 'page'],
  ['row 29: an iss without an origin', { code: 'c', iss: 'data:x' }, byOrigin, 'page'],
  ['neither code nor error', {}, optional, 'server_error'],
  ['an empty code', { code: '' }, optional, 'server_error'],
  ['access_denied', { error: 'access_denied' }, optional, 'access_denied'],
  ['login_required', { error: 'login_required' }, optional, 'access_denied'],
  ['interaction_required', { error: 'interaction_required' }, optional, 'access_denied'],
  ['consent_required', { error: 'consent_required' }, optional, 'access_denied'],
  ['an error beside a code', { error: 'access_denied', code: 'c' }, optional, 'access_denied'],
  ['an empty error', { error: '', code: 'c' }, optional, 'server_error'],
  ['invalid_scope', { error: 'invalid_scope' }, optional, 'server_error'],
  ['server_error', { error: 'server_error' }, optional, 'server_error'],
  ['temporarily_unavailable', { error: 'temporarily_unavailable' }, optional, 'temporarily_unavailable'],
  ['an error that nobody knows', { error: '__proto__' }, optional, 'server_error'],
];

describe('a callback', () => {
  it.each(CASES)('%s', (_name, callback, rule, expected) => {
    expect(answerTo(callback, rule)).toBe(expected);
  });

  it('says in the log what the provider said, cleaned and cut, and nothing of it in the message', () => {
    const said = {
      error: 'invalid_scope',
      errorDescription: `no\r\nX: y\u202Ez ${'A1-'.repeat(9)} ${'x '.repeat(1_000)}`,
    };
    const failure = expect.objectContaining({
      message: 'the provider called back with an error',
      providerError: 'invalid_scope',
      providerSays: `no??X: y?z [cut] ${'x '.repeat(91)}x`,
    });
    expect(() => codeOf(said, optional)).toThrow(failure);
    expect(() => codeOf({ error: 'a\nb' }, optional)).toThrow(expect.objectContaining({ providerError: undefined }));
  });
});
