import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { authenticateClient, presentedClient, secretHash, type ClientCredentials } from './client-authentication.ts';
import type { AuthMethod, Client } from '../storage/records.ts';

const SECRET = 'vcs_s3cret:+ %ü';

const client = (client_id: string, method: AuthMethod): Client => ({
  client_id,
  source: 'registered',
  issuedAt: 0,
  metadata: {
    redirect_uris: ['https://client.example/cb'],
    token_endpoint_auth_method: method,
    grant_types: ['authorization_code'],
    response_types: ['code'],
    scope: 'openid',
  },
  ...(method.startsWith('client_secret') && { secretHash: secretHash(SECRET) }),
});
const CLIENTS = new Map([
  ['public', client('public', 'none')],
  ['keys', client('keys', 'private_key_jwt')],
  ['post', client('post', 'client_secret_post')],
  ['ba:sic ü', client('ba:sic ü', 'client_secret_basic')],
]);

const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const SAML = 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer';
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const jwt = (claims: object): string => `${part({ alg: 'ES256' })}.${part(claims)}.c2ln`;
const ASSERTION = jwt({ iss: 'keys', sub: 'keys' });
const asserted = (client_assertion: string, more: Record<string, string> = {}): Record<string, string> => ({
  ...{ client_assertion, client_assertion_type: TYPE },
  ...more,
});

const basic = (id: string, secret: string): string => {
  const form = (text: string): string => encodeURIComponent(text).replaceAll('%20', '+');
  return `Basic ${Buffer.from(`${form(id)}:${form(secret)}`).toString('base64')}`;
};

function authenticate(params: Record<string, string>, authorization?: string) {
  const credentials: ClientCredentials = { authorization, params: new Map(Object.entries(params)) };
  const read = presentedClient(credentials);
  return read.ok ? authenticateClient(read.presented, CLIENTS.get(read.presented.clientId)) : read;
}

const invalid = (reason: string, challenge = false) => ({
  ok: false,
  status: 401,
  error: 'invalid_client',
  challenge,
  reason,
});

describe('a client', () => {
  it.each<[string, Record<string, string>, string?]>([
    ['public', { client_id: 'public' }],
    ['public', { client_id: 'public', client_secret: '' }],
    ['post', { client_id: 'post', client_secret: SECRET }],
    ['ba:sic ü', {}, basic('ba:sic ü', SECRET)],
    ['ba:sic ü', { client_id: 'ba:sic ü' }, basic('ba:sic ü', SECRET)],
    ['ba:sic ü', {}, basic('ba:sic ü', SECRET).replace('Basic', 'bASIC ')],
    ['keys', asserted(ASSERTION)],
    ['keys', asserted(ASSERTION, { client_id: 'keys', client_secret: '' })],
  ])('%s authenticates by its registered method', (id, params, authorization) => {
    expect(authenticate(params, authorization)).toEqual({ ok: true, client: CLIENTS.get(id) });
  });

  it.each<[string, Record<string, string>, string | undefined, object]>([
    ['no client id', {}, undefined, invalid('no_client_id')],
    ['an empty id', { client_id: '' }, undefined, invalid('no_client_id')],
    ['an id of 3000 characters', { client_id: 'a'.repeat(3000) }, undefined, invalid('no_client_id')],
    ['an unknown id', { client_id: 'who' }, undefined, invalid('unknown_client')],
    ['an id named __proto__', { client_id: '__proto__' }, undefined, invalid('unknown_client')],
    ['an unknown id with a secret', { client_id: 'who', client_secret: SECRET }, undefined, invalid('unknown_client')],
    ['a wrong secret', { client_id: 'post', client_secret: `${SECRET}x` }, undefined, invalid('wrong_secret')],
    [
      'the stored hash as the secret',
      { client_id: 'post', client_secret: secretHash(SECRET) },
      undefined,
      invalid('wrong_secret'),
    ],
    [
      'a secret of a public client',
      { client_id: 'public', client_secret: 'x' },
      undefined,
      invalid('method_not_registered'),
    ],
    ['a confidential client without its secret', { client_id: 'post' }, undefined, invalid('method_not_registered')],
    [
      'client_secret_post instead of basic',
      { client_id: 'ba:sic ü', client_secret: SECRET },
      undefined,
      invalid('method_not_registered'),
    ],
    ['client_secret_basic instead of post', {}, basic('post', SECRET), invalid('method_not_registered', true)],
    ['client_secret_basic by a public client', {}, basic('public', ''), invalid('method_not_registered', true)],
    ['a wrong secret by header', {}, basic('ba:sic ü', 'x'), invalid('wrong_secret', true)],
    ['an unknown id by header', {}, basic('who', SECRET), invalid('unknown_client', true)],
    ['two different client ids', { client_id: 'public' }, basic('ba:sic ü', SECRET), invalid('two_clients', true)],
    ['another authorization scheme', { client_id: 'public' }, 'Bearer abc', invalid('malformed_header', true)],
    ['an empty header', { client_id: 'public' }, '', invalid('malformed_header', true)],
    ['invalid base64', {}, 'Basic ???', invalid('malformed_header', true)],
    ['a header without an id', {}, basic('', SECRET), invalid('malformed_header', true)],
    [
      'a header without a colon',
      {},
      `Basic ${Buffer.from('post').toString('base64')}`,
      invalid('malformed_header', true),
    ],
    [
      'an invalid percent escape',
      {},
      `Basic ${Buffer.from('post:%zz').toString('base64')}`,
      invalid('malformed_header', true),
    ],
    ['two headers in one', {}, `${basic('post', SECRET)}, ${basic('post', SECRET)}`, invalid('malformed_header', true)],
    ['an assertion without a type', { client_assertion: ASSERTION }, undefined, invalid('assertion_type')],
    [
      'an assertion type without an assertion',
      { client_id: 'public', client_assertion_type: TYPE },
      undefined,
      invalid('assertion_malformed'),
    ],
    ['a SAML assertion', asserted(ASSERTION, { client_assertion_type: SAML }), undefined, invalid('assertion_type')],
    ['junk', asserted('eyJ'), undefined, invalid('assertion_malformed')],
    ['an encrypted assertion', asserted('a.b.c.d.e'), undefined, invalid('assertion_malformed')],
    ['claims that are not an object', asserted(jwt([])), undefined, invalid('assertion_malformed')],
    ['an assertion without a subject', asserted(jwt({})), undefined, invalid('assertion_malformed')],
    [
      'an assertion of 17 KiB',
      asserted(jwt({ sub: 'keys', x: 'x'.repeat(17_000) })),
      undefined,
      invalid('assertion_malformed'),
    ],
    [
      'a client_id that differs from the subject',
      asserted(ASSERTION, { client_id: 'public' }),
      undefined,
      invalid('two_clients'),
    ],
    ['an assertion of an unknown client', asserted(jwt({ sub: 'who' })), undefined, invalid('unknown_client')],
    ['an assertion of a public client', asserted(jwt({ sub: 'public' })), undefined, invalid('method_not_registered')],
    [
      'an assertion of a client with a secret',
      asserted(jwt({ sub: 'post' })),
      undefined,
      invalid('method_not_registered'),
    ],
    ['a client with a key that sends no assertion', { client_id: 'keys' }, undefined, invalid('method_not_registered')],
    [
      'a secret of a client with a key',
      { client_id: 'keys', client_secret: SECRET },
      undefined,
      invalid('method_not_registered'),
    ],
  ])('is rejected: %s', (_, params, authorization, expected) => {
    expect(authenticate(params, authorization)).toEqual(expected);
  });

  it.each<[string, Record<string, string>, string?]>([
    ['header and body', { client_id: 'ba:sic ü', client_secret: SECRET }, basic('ba:sic ü', SECRET)],
    ['header and assertion', asserted(ASSERTION), basic('ba:sic ü', SECRET)],
    ['secret and assertion', asserted(ASSERTION, { client_secret: SECRET })],
  ])('is rejected with 400 when it uses two methods: %s', (_, params, authorization) => {
    expect(authenticate(params, authorization)).toMatchObject({ status: 400, error: 'invalid_request' });
  });

  it('gets the same response when it is unknown as when its secret is wrong', () => {
    const wire = (params: Record<string, string>) => ({ ...authenticate(params), reason: undefined });
    const unknown = wire({ client_id: 'who', client_secret: 'x' });
    expect(unknown).toEqual(wire({ client_id: 'post', client_secret: 'x' }));
    expect(unknown).toEqual(wire({ client_id: 'public', client_secret: 'x' }));
    expect(unknown).toEqual(wire({ client_id: 'post' }));
  });

  it('is rejected with any secret when its stored hash is missing or truncated', () => {
    const { secretHash: _, ...broken } = client('post', 'client_secret_post');
    const read = presentedClient({ authorization: undefined, params: new Map([['client_id', 'post'], ['client_secret', '\0'.repeat(32)]]) }); // oxfmt-ignore
    expect(read.ok && authenticateClient(read.presented, broken)).toMatchObject({ reason: 'wrong_secret' });
    const truncated = { ...broken, secretHash: 'AAAA' };
    expect(read.ok && authenticateClient(read.presented, truncated)).toMatchObject({ reason: 'wrong_secret' });
  });

  it('is printed without its secret', () => {
    const read = presentedClient({ authorization: basic('ba:sic ü', SECRET), params: new Map() });
    expect(inspect(read, { depth: 9 }) + JSON.stringify(read)).not.toContain('s3cret');
  });
});
