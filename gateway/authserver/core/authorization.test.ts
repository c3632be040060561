import { describe, expect, it } from 'vitest';
import {
  checkAuthorizationRequest,
  readClientId,
  type AuthorizationOutcome,
  type AuthorizationRules,
} from './authorization.ts';
import { wireError } from './refusal.ts';
import { parseParameters } from './request-parameters.ts';

const CALLBACK = 'https://client.example/cb?from=vmcp';
const RESOURCE = 'https://gateway.example/mcp';
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

const RULES: AuthorizationRules = {
  client: { redirect_uris: [CALLBACK], scope: 'openid mcp' },
  scopesSupported: ['openid', 'profile', 'mcp'],
  audiences: [RESOURCE],
  matchesRedirectUri: (registered, requested) => registered.includes(requested),
};

const GOOD = {
  response_type: 'code',
  client_id: 'client-1',
  redirect_uri: CALLBACK,
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
  state: 'a b&c=é',
  scope: 'mcp',
  resource: RESOURCE,
};

type Changes = Readonly<Record<string, string | undefined>>;

/** Returns a valid request with members changed or removed (undefined), followed by `more`. */
function encoded(changes: Changes = {}, more = ''): string {
  const members: [string, string | undefined][] = Object.entries({ ...GOOD, ...changes });
  const sent = members.flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]]));
  return `${new URLSearchParams(sent).toString()}${more}`;
}

const check = (changes?: Changes, more?: string, rules: Partial<AuthorizationRules> = {}): AuthorizationOutcome =>
  checkAuthorizationRequest(parseParameters(encoded(changes, more)), { ...RULES, ...rules });

const toPage = (reason: string) => ({ ok: false, refusal: { to: 'page', reason } });
const toClient = (reason: string, state: string | undefined = GOOD.state) => ({
  ok: false,
  refusal: { to: 'client', reason, redirectUri: CALLBACK, state },
});

describe('an authorization request', () => {
  it('is accepted when it keeps all rules', () => {
    expect(check()).toEqual({
      ok: true,
      request: {
        clientId: 'client-1',
        redirectUri: CALLBACK,
        state: GOOD.state,
        codeChallenge: CHALLENGE,
        scopes: ['mcp'],
        resource: RESOURCE,
        nonce: undefined,
        reauthenticate: false,
        askConsent: false,
      },
    });
  });

  it.each<[string, Changes, object]>([
    ['no state', { state: undefined }, { state: undefined }],
    ['state of 2048 bytes', { state: 's'.repeat(2048) }, { state: 's'.repeat(2048) }],
    ['no scope', { scope: undefined }, { scopes: ['openid', 'mcp'] }],
    ['no resource', { resource: undefined }, { resource: RESOURCE }],
    ['an equivalent spelling of the resource', { resource: 'HTTPS://GATEWAY.example:443/mcp' }, { resource: RESOURCE }],
    ['response_mode=query', { response_mode: 'query' }, {}],
    ['nonce', { nonce: 'n-1' }, { nonce: 'n-1' }],
    ['prompt=login', { prompt: 'login' }, { reauthenticate: true, askConsent: false }],
    ['prompt=select_account', { prompt: 'select_account' }, { reauthenticate: true }],
    ['prompt=consent', { prompt: 'consent' }, { askConsent: true, reauthenticate: false }],
    ['prompt=login consent', { prompt: 'login consent' }, { askConsent: true, reauthenticate: true }],
    ['max_age=0', { max_age: '0' }, { reauthenticate: true }],
    ['unknown parameters', { audience: 'x', claims: '{}', __proto__x: 'y' }, {}],
  ])('%s is allowed', (_what, changes, settled) => {
    expect(check(changes)).toMatchObject({ ok: true, request: settled });
  });
});

describe('before the redirect URI is verified, an invalid request gets a page and no redirect', () => {
  it.each<[string, Changes, string, string]>([
    ['client_id absent', { client_id: undefined }, '', 'client_id_missing'],
    ['client_id empty', { client_id: '' }, '', 'client_id_missing'],
    ['client_id twice', {}, '&client_id=client-1', 'parameter_duplicated'],
    ['client_id of 2049 characters', { client_id: 'c'.repeat(2049) }, '', 'client_id_too_long'],
    ['redirect_uri absent', { redirect_uri: undefined }, '', 'redirect_uri_missing'],
    ['redirect_uri twice', {}, '&redirect_uri=https%3A%2F%2Fevil.example', 'parameter_duplicated'],
    ['an additional empty redirect_uri', {}, '&redirect_uri=', 'parameter_duplicated'],
    ['an unregistered redirect_uri', { redirect_uri: 'https://evil.example/cb' }, '', 'redirect_uri_mismatch'],
    ['redirect_uri with an added parameter', { redirect_uri: `${CALLBACK}&x=1` }, '', 'redirect_uri_mismatch'],
  ])('%s', (_what, changes, more, reason) => {
    expect(check(changes, more)).toEqual(toPage(reason));
  });

  it('takes precedence over all other rules', () => {
    const bad = { response_type: 'token', scope: 'x"', code_challenge: undefined };
    expect(check({ ...bad, redirect_uri: 'https://evil.example' })).toEqual(toPage('redirect_uri_mismatch'));
  });

  it('checks the client id without looking up the client', () => {
    expect(readClientId(parseParameters(encoded()))).toEqual({ ok: true, value: 'client-1' });
    expect(readClientId(parseParameters(encoded({ client_id: 'c'.repeat(2048) }))).ok).toBe(true);
    expect(readClientId(parseParameters(encoded({}, '&client_id=x')))).toEqual({
      ok: false,
      reason: 'parameter_duplicated',
    });
  });
});

describe('after that, an invalid request is redirected to the client', () => {
  it.each<[string, Changes, string, string, string]>([
    ['a parameter twice', {}, '&scope=mcp', 'parameter_duplicated', 'invalid_request'],
    ['an unknown parameter twice', {}, '&x=1&x=1', 'parameter_duplicated', 'invalid_request'],
    ['request', { request: 'eyJ' }, '', 'request_object', 'request_not_supported'],
    ['request_uri', { request_uri: 'https://x' }, '', 'request_uri', 'request_uri_not_supported'],
    ['no response_type', { response_type: undefined }, '', 'response_type', 'unsupported_response_type'],
    ['response_type=token', { response_type: 'token' }, '', 'response_type', 'unsupported_response_type'],
    [
      'response_type=code id_token',
      { response_type: 'code id_token' },
      '',
      'response_type',
      'unsupported_response_type',
    ],
    ['response_mode=fragment', { response_mode: 'fragment' }, '', 'response_mode', 'invalid_request'],
    ['response_mode=form_post', { response_mode: 'form_post' }, '', 'response_mode', 'invalid_request'],
    ['no challenge', { code_challenge: undefined }, '', 'challenge_missing', 'invalid_request'],
    ['challenge method plain', { code_challenge_method: 'plain' }, '', 'challenge_method', 'invalid_request'],
    ['no challenge method', { code_challenge_method: undefined }, '', 'challenge_method', 'invalid_request'],
    ['short challenge', { code_challenge: 'short' }, '', 'challenge_malformed', 'invalid_request'],
    ['scope that is not registered', { scope: 'mcp profile' }, '', 'scope_unknown', 'invalid_scope'],
    ['scope with a quote', { scope: 'a"b' }, '', 'scope_malformed', 'invalid_scope'],
    ['another resource', { resource: 'https://x.example/mcp' }, '', 'resource_unknown', 'invalid_target'],
    ['a relative resource', { resource: '/mcp' }, '', 'resource_malformed', 'invalid_target'],
    ['two resources', {}, '&resource=https%3A%2F%2Fx.example', 'resource_multiple', 'invalid_target'],
    ['a long nonce', { nonce: 'n'.repeat(2049) }, '', 'nonce_too_long', 'invalid_request'],
    ['prompt=none login', { prompt: 'none login' }, '', 'prompt', 'invalid_request'],
    ['prompt=create', { prompt: 'create' }, '', 'prompt', 'invalid_request'],
    ['prompt=none', { prompt: 'none' }, '', 'login_required', 'login_required'],
    ['max_age=-1', { max_age: '-1' }, '', 'max_age', 'invalid_request'],
    ['max_age=1e3', { max_age: '1e3' }, '', 'max_age', 'invalid_request'],
  ])('%s', (_what, changes, more, reason, error) => {
    expect(check(changes, more)).toEqual(toClient(reason));
    expect(wireError(reason as Parameters<typeof wireError>[0]).error).toBe(error);
  });

  it('without state when the request has two', () => {
    expect(check({}, '&state=other')).toMatchObject({ refusal: { reason: 'parameter_duplicated', state: undefined } });
  });

  it.each(['s'.repeat(2049), 'é'.repeat(1025)])('without a state of more than 2048 bytes', (state) => {
    expect(check({ state })).toMatchObject({ refusal: { to: 'client', reason: 'state_too_long', state: undefined } });
  });

  it('without resource when there are several virtual servers', () => {
    const audiences = [RESOURCE, 'https://gateway.example/other'];
    expect(check({ resource: undefined }, '', { audiences })).toEqual(toClient('resource_missing'));
  });

  it('with the first violated rule, in a fixed order', () => {
    const broken: [string, Changes][] = [
      ['parameter_duplicated', {}],
      ['request_object', { request: 'x' }],
      ['request_uri', { request_uri: 'x' }],
      ['response_type', { response_type: 'token' }],
      ['response_mode', { response_mode: 'fragment' }],
      ['challenge_missing', { code_challenge: undefined }],
      ['state_too_long', { state: 's'.repeat(2049) }],
      ['scope_unknown', { scope: 'no' }],
      ['resource_unknown', { resource: 'https://x.example' }],
      ['nonce_too_long', { nonce: 'n'.repeat(2049) }],
      ['prompt', { prompt: 'no' }],
    ];
    broken.forEach(([reason], index) => {
      const changes = Object.assign({}, ...broken.slice(index).map(([, change]) => change)) as Changes;
      expect(check(changes, index === 0 ? '&x=1&x=2' : '')).toMatchObject({ refusal: { to: 'client', reason } });
    });
  });
});
