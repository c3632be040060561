import { describe, expect, it } from 'vitest';
import { codeResponseUrl, errorResponseUrl } from './authorization.ts';
import { REFUSAL_REASONS, wireError } from './refusal.ts';

const ISSUER = 'https://gateway.example/team';

describe('an authorization response', () => {
  it.each([
    ['https://client.example/cb', 'https://client.example/cb?code='],
    ['https://client.example/cb?', 'https://client.example/cb?code='],
    ['https://client.example/cb?a=%7e', 'https://client.example/cb?a=%7e&code='],
    ['https://client.example/cb?a=1&', 'https://client.example/cb?a=1&code='],
    ['http://127.0.0.1:5173', 'http://127.0.0.1:5173?code='],
    ['cursor://anysphere/cb', 'cursor://anysphere/cb?code='],
    ['com.example.app:/cb', 'com.example.app:/cb?code='],
  ])('to %s keeps the redirect URI unchanged', (redirectUri, start) => {
    const url = codeResponseUrl('vac_1.2', { redirectUri, state: 's', issuer: ISSUER });
    expect(url).toBe(`${start}vac_1.2&state=s&iss=${encodeURIComponent(ISSUER)}`);
  });

  it('contains the exact issuer, with and without state', () => {
    const answerTo = { redirectUri: 'https://client.example/cb', state: undefined, issuer: ISSUER };
    const { searchParams } = new URL(codeResponseUrl('c', answerTo));
    expect([...searchParams]).toEqual([
      ['code', 'c'],
      ['iss', ISSUER],
    ]);
  });

  it.each(REFUSAL_REASONS)('contains the issuer in an error: %s', (reason) => {
    const state = 'a b&c=é"\r\n%';
    const url = errorResponseUrl(reason, { redirectUri: 'https://client.example/cb', state, issuer: ISSUER });
    expect(url).toMatch(/^[\x21-\x7e]+$/);
    const { error, description } = wireError(reason);
    expect([...new URL(url).searchParams]).toEqual([
      ['error', error],
      ['error_description', description],
      ['state', state],
      ['iss', ISSUER],
    ]);
  });
});
