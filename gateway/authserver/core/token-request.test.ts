import { describe, expect, it } from 'vitest';
import { wireError } from './refusal.ts';
import { parametersOf } from './request-parameters.ts';
import { grantTypeOf, readTokenRequest } from './token-request.ts';

const BOTH = { grant_types: ['authorization_code', 'refresh_token'] };
const read = (form: string, client = BOTH) => readTokenRequest(parametersOf(form), client);

describe('a token request', () => {
  it('redeems a code', () => {
    expect(
      read('grant_type=authorization_code&code=c&redirect_uri=https%3A%2F%2Fx&code_verifier=v&resource=r'),
    ).toEqual({
      ok: true,
      value: {
        grantType: 'authorization_code',
        code: 'c',
        redirectUri: 'https://x',
        codeVerifier: 'v',
        resources: ['r'],
      },
    });
  });

  it('refreshes', () => {
    expect(read('grant_type=refresh_token&refresh_token=t&scope=a+b&resource=r&resource=s')).toEqual({
      ok: true,
      value: { grantType: 'refresh_token', refreshToken: 't', scope: 'a b', resources: ['r', 's'] },
    });
  });

  it('leaves out what it leaves out', () => {
    expect(read('grant_type=authorization_code&code=c&code_verifier=')).toMatchObject({
      value: { redirectUri: undefined, codeVerifier: undefined, resources: [] },
    });
    expect(read('grant_type=refresh_token&refresh_token=t')).toMatchObject({
      value: { scope: undefined, resources: [] },
    });
  });

  it.each([
    ['', 'grant_type_missing', 'invalid_request'],
    ['grant_type=', 'grant_type_missing', 'invalid_request'],
    ['grant_type=password&username=u&password=p', 'grant_type_unknown', 'unsupported_grant_type'],
    ['grant_type=client_credentials', 'grant_type_unknown', 'unsupported_grant_type'],
    ['grant_type=constructor', 'grant_type_unknown', 'unsupported_grant_type'],
    ['grant_type=urn:ietf:params:oauth:grant-type:token-exchange', 'grant_type_unknown', 'unsupported_grant_type'],
    ['grant_type=authorization_code', 'code_missing', 'invalid_request'],
    ['grant_type=refresh_token', 'refresh_token_missing', 'invalid_request'],
    ['grant_type=authorization_code&code=c&code=d', 'parameter_duplicated', 'invalid_request'],
    ['grant_type=refresh_token&grant_type=authorization_code&code=c', 'parameter_duplicated', 'invalid_request'],
    ['grant_type=authorization_code&code=c&client_id=a&client_id=b', 'parameter_duplicated', 'invalid_request'],
  ] as const)('%j is refused: %s', (form, reason, error) => {
    expect(read(form)).toEqual({ ok: false, reason });
    expect(wireError(reason)).toMatchObject({ status: 400, error });
  });

  it('of a grant that the client has not registered is refused', () => {
    const client = { grant_types: ['authorization_code'] };
    expect(read('grant_type=refresh_token&refresh_token=t', client)).toEqual({
      ok: false,
      reason: 'grant_type_unregistered',
    });
  });

  it('says its grant before the client is known', () => {
    expect(grantTypeOf(parametersOf('grant_type=refresh_token'))).toEqual({ ok: true, value: 'refresh_token' });
  });
});
