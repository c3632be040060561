import { describe, expect, it } from 'vitest';
import { standardReply, type ReplyRules } from './token-reply.ts';

const PLAIN: ReplyRules = { openid: false };
const OPENID: ReplyRules = { openid: true };
const SLACK: ReplyRules = {
  openid: false,
  mapping: {
    access_token_path: 'authed_user.access_token',
    refresh_token_path: 'authed_user.refresh_token',
    expires_in_path: 'authed_user.expires_in',
    scope_path: 'authed_user.scope',
  },
};
const LIST: ReplyRules = {
  openid: false,
  mapping: { access_token_path: 'data.tokens.1.value', scope_path: 'data.scopes' },
};

const good = { access_token: 'a', token_type: 'Bearer' };
const standard = (body: object) => ({
  status: 200,
  body: {
    access_token: 'a',
    token_type: 'Bearer',
    refresh_token: undefined,
    expires_in: undefined,
    scope: undefined,
    ...body,
  },
});
const refused = (error: string, more = {}) => ({ status: 400, body: { error, ...more } });

const CASES: readonly (readonly [string, unknown, ReplyRules, unknown])[] = [
  [
    'the standard shape',
    { ...good, refresh_token: 'r', expires_in: 60, scope: 's t' },
    PLAIN,
    standard({ refresh_token: 'r', expires_in: 60, scope: 's t' }),
  ],
  ['an ID token of a plain provider', { ...good, id_token: 'x.y.z' }, PLAIN, standard({})],
  ['an ID token of an OpenID provider', { ...good, id_token: 'x.y.z' }, OPENID, standard({ id_token: 'x.y.z' })],
  ['no token_type', { access_token: 'a' }, PLAIN, standard({})],
  [
    'no token_type of an OpenID provider',
    { access_token: 'a' },
    OPENID,
    standard({ token_type: undefined, id_token: undefined }),
  ],
  ['token_type mac', { ...good, token_type: 'mac' }, PLAIN, standard({ token_type: 'mac' })],
  ['a text of digits as lifetime', { ...good, expires_in: '60' }, PLAIN, standard({ expires_in: 60 })],
  ['a zero lifetime', { ...good, expires_in: 0 }, PLAIN, standard({})],
  ['a negative lifetime', { ...good, expires_in: -1 }, PLAIN, standard({})],
  ['a very long lifetime', { ...good, expires_in: 1e300 }, PLAIN, standard({})],
  ['a lifetime that is not a number', { ...good, expires_in: 'soon' }, PLAIN, standard({})],
  ['a list of scopes', { ...good, scope: ['s', 7, 't'] }, PLAIN, standard({ scope: 's t' })],
  ['an empty refresh token', { ...good, refresh_token: '' }, PLAIN, standard({})],
  ['an empty access token', { ...good, access_token: '' }, PLAIN, standard({ access_token: undefined })],
  ['an access token with CR LF', { ...good, access_token: 'a\r\nX: y' }, PLAIN, standard({ access_token: undefined })],
  ['an access token that is an object', { ...good, access_token: {} }, PLAIN, standard({ access_token: undefined })],
  [
    'Slack',
    {
      ok: true,
      access_token: 'bot',
      token_type: 'bot',
      authed_user: { access_token: 'a', scope: 's', expires_in: 43_200, refresh_token: 'r' },
    },
    SLACK,
    standard({ refresh_token: 'r', expires_in: 43_200, scope: 's' }),
  ],
  ['Slack without a user token', { ok: true, access_token: 'bot' }, SLACK, standard({ access_token: undefined })],
  ['an error of Slack with status 200', { ok: false, error: 'invalid_code' }, SLACK, refused('invalid_code')],
  [
    'ok: false together with a token',
    { ok: false, authed_user: { access_token: 'a' } },
    SLACK,
    refused('unknown_error'),
  ],
  [
    'GitHub says no with 200',
    { error: 'bad_verification_code', error_description: 'The code passed is incorrect or expired.', error_uri: 'x' },
    PLAIN,
    refused('bad_verification_code', { error_description: 'The code passed is incorrect or expired.' }),
  ],
  ['an error that is an object', { error: { code: 7 } }, PLAIN, refused('unknown_error')],
  ['an error together with a token', { ...good, error: 'x' }, PLAIN, refused('x')],
  ['error: null, which means success', { ...good, error: null }, PLAIN, standard({})],
  ['error: 0, which means success', { ...good, error: 0 }, PLAIN, standard({})],
  ['an index into a list', { data: { tokens: [{}, { value: 'a' }], scopes: ['s'] } }, LIST, standard({ scope: 's' })],
  ['a list that is too short', { data: { tokens: [] } }, LIST, standard({ access_token: undefined })],
  ['a text instead of a list', { data: { tokens: 'ab' } }, LIST, standard({ access_token: undefined })],
  ['a list', [good], PLAIN, undefined],
  ['null', null, PLAIN, undefined],
  ['a text', 'access_token=a', PLAIN, undefined],
];

describe('a 200 reply of a token endpoint', () => {
  it.each(CASES)('%s', (_name, document, rules, expected) => {
    expect(standardReply(document, rules)).toEqual(expected);
  });

  it('is not read through prototypes', () => {
    const document: unknown = JSON.parse(
      '{"__proto__": {"access_token": "a"}, "constructor": {"prototype": {"x": "a"}}}',
    );
    expect(standardReply(document, PLAIN)?.body).toMatchObject({ access_token: undefined });
    for (const access_token_path of [
      '__proto__.access_token',
      'constructor.prototype.x',
      'toString.name',
      'a..b',
      '',
    ]) {
      const rules = { openid: false, mapping: { access_token_path } };
      expect(standardReply(document, rules)?.body).toMatchObject({ access_token: undefined });
    }
  });
});
