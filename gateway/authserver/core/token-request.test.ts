import { describe, expect, it } from 'vitest';
import { wireError } from './refusal.ts';
import { parseParameters } from './request-parameters.ts';
import { readGrantType, LOGIN_GRANT_TYPES, readCodeRequest, readRefreshRequest } from './token-request.ts';

describe('a token request', () => {
  it('redeems a code', () => {
    expect(readCodeRequest(parseParameters('code=c&redirect_uri=https%3A%2F%2Fx&code_verifier=v&resource=r'))).toEqual({
      ok: true,
      value: { code: 'c', redirectUri: 'https://x', codeVerifier: 'v', resources: ['r'] },
    });
  });

  it('refreshes', () => {
    expect(readRefreshRequest(parseParameters('refresh_token=t&scope=a+b&resource=r&resource=s'))).toEqual({
      ok: true,
      value: { refreshToken: 't', scope: 'a b', resources: ['r', 's'] },
    });
  });

  it('returns undefined for absent parameters', () => {
    expect(readCodeRequest(parseParameters('code=c&code_verifier='))).toMatchObject({
      value: { redirectUri: undefined, codeVerifier: undefined, resources: [] },
    });
    expect(readRefreshRequest(parseParameters('refresh_token=t'))).toMatchObject({
      value: { scope: undefined, resources: [] },
    });
  });

  it('is rejected without its code or token', () => {
    expect(readCodeRequest(parseParameters('code='))).toEqual({ ok: false, reason: 'code_missing' });
    expect(readRefreshRequest(parseParameters(''))).toEqual({ ok: false, reason: 'refresh_token_missing' });
    expect(wireError('code_missing')).toMatchObject({ status: 400, error: 'invalid_request' });
    expect(wireError('refresh_token_missing')).toMatchObject({ status: 400, error: 'invalid_request' });
  });

  it.each([
    ['', 'grant_type_missing', 'invalid_request'],
    ['grant_type=', 'grant_type_missing', 'invalid_request'],
    ['grant_type=password&username=u&password=p', 'grant_type_unknown', 'unsupported_grant_type'],
    ['grant_type=client_credentials', 'grant_type_unknown', 'unsupported_grant_type'],
    ['grant_type=constructor', 'grant_type_unknown', 'unsupported_grant_type'],
    ['grant_type=urn:ietf:params:oauth:grant-type:token-exchange', 'grant_type_unknown', 'unsupported_grant_type'],
    ['grant_type=authorization_code&code=c&code=d', 'parameter_duplicated', 'invalid_request'],
    ['grant_type=refresh_token&grant_type=authorization_code&code=c', 'parameter_duplicated', 'invalid_request'],
    ['grant_type=authorization_code&code=c&client_id=a&client_id=b', 'parameter_duplicated', 'invalid_request'],
  ] as const)('%j is rejected: %s', (form, reason, error) => {
    expect(readGrantType(parseParameters(form), LOGIN_GRANT_TYPES)).toEqual({ ok: false, reason });
    expect(wireError(reason)).toMatchObject({ status: 400, error });
  });

  it.each(['authorization_code', 'refresh_token'])('returns its grant: %s', (type) => {
    expect(readGrantType(parseParameters(`grant_type=${type}`), LOGIN_GRANT_TYPES)).toEqual({ ok: true, value: type });
  });
});
