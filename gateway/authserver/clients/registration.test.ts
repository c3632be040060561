import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { ClientMetadata } from '../storage/records.ts';
import type { MetadataRules } from './metadata/client-metadata.ts';
import {
  authorizeRegistration,
  clientInformation,
  readRegistration,
  createClient,
  registrationError,
  registrationReply,
} from './registration.ts';
import { METADATA_RULES } from './testdata/rules.ts';

const REDIRECT = 'https://client.example/cb';
const CONFIDENTIAL = { allowConfidential: true } as const;
const SECRET_POST = { token_endpoint_auth_method: 'client_secret_post' } as const;

const reading = (members: object, rules: Partial<MetadataRules> = {}) =>
  readRegistration(JSON.stringify({ redirect_uris: [REDIRECT], ...members }), { ...METADATA_RULES, ...rules });

function accepted(members: object, rules: Partial<MetadataRules> = {}): ClientMetadata {
  const read = reading(members, rules);
  if (!read.ok) throw new Error(inspect(read.problems));
  return read.metadata;
}

function refusal(members: object, rules: Partial<MetadataRules> = {}) {
  const read = reading(members, rules);
  return read.ok ? undefined : registrationError(read.problems).body;
}

describe('a registration', () => {
  it('with redirect URIs only creates a public client with both grants and the default scopes', () => {
    expect(accepted({})).toEqual({
      redirect_uris: [REDIRECT],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: 'openid offline_access',
    });
  });

  it('keeps known members and drops all others', () => {
    const known = {
      client_name: 'Tool Caller',
      client_uri: 'https://client.example/',
      logo_uri: 'https://client.example/logo.png',
      tos_uri: 'https://client.example/tos',
      policy_uri: 'https://client.example/policy',
      software_id: '4NRB1-0XZABZI9E6-5SM3R',
      software_version: '1.0',
      application_type: 'native',
      grant_types: ['authorization_code'],
      response_types: ['code'],
      scope: 'tools',
    };
    const read = accepted({ ...known, contacts: ['a@b'], client_id: 'mine', client_secret: 'x', role: 'admin' });
    expect(read).toEqual({ ...known, redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' });
  });

  it.each([
    ['urn:ietf:params:oauth:grant-type:device_code'],
    ['client_credentials'],
    ['urn:ietf:params:oauth:grant-type:jwt-bearer'],
    ['implicit', 'password', 'https://client.example/grant'],
  ])('with the further grant %s is left with the grants of a login', (...further) => {
    const asked = [...further, 'refresh_token', 'authorization_code', ...further];
    expect(accepted({ grant_types: asked })).toMatchObject({ grant_types: ['authorization_code', 'refresh_token'] });
    expect(accepted({ grant_types: ['authorization_code', ...further] })).toMatchObject({
      grant_types: ['authorization_code'],
    });
  });

  it('of well-known clients is accepted', () => {
    const claudeCode = {
      client_name: 'Claude Code (tools)',
      redirect_uris: ['http://localhost:3118/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
    const cursor = {
      client_name: 'Cursor',
      redirect_uris: ['cursor://anysphere.cursor-retrieval/oauth/user-tools/callback'],
      token_endpoint_auth_method: 'none',
      client_uri: '',
    };
    const code = {
      client_name: 'Visual Studio Code',
      client_uri: 'https://code.visualstudio.com',
      redirect_uris: ['https://insiders.vscode.dev/redirect', 'http://127.0.0.1/', 'http://127.0.0.1:33418/'],
      application_type: 'native',
    };
    const inspector = {
      redirect_uris: ['http://localhost:6274/oauth/callback'],
      client_name: 'MCP Inspector',
      scope: '',
    };
    for (const client of [claudeCode, cursor, code, inspector])
      expect(accepted(client).redirect_uris).toEqual(client.redirect_uris);
  });

  it('may have null members and repeated values', () => {
    const nulls = { client_name: null, scope: null, grant_types: null, jwks: null, software_statement: null };
    expect(accepted({ ...nulls, redirect_uris: [REDIRECT, REDIRECT] })).toEqual(accepted({}));
  });

  it.each([
    ['openid tools', 'openid tools'],
    [['tools', 'openid', 'tools'], 'tools openid'],
    ['  tools  ', 'tools'],
    [[], 'openid offline_access'],
  ])('with the scope %j gets %j', (scope, expected) => {
    expect(accepted({ scope }).scope).toBe(expected);
  });

  it('also gets the baseline scopes', () => {
    expect(accepted({ scope: 'tools openid' }, { baselineScopes: ['openid', 'email'] }).scope).toBe(
      'tools openid email',
    );
  });

  it.each([
    ['a\u202Eb\u0000c\u200B', 'abc'],
    ['  two \n\t words ', 'two words'],
    ['<script>alert(1)</script>', '<script>alert(1)</script>'],
    ['\u2066\u200F\u0007', undefined],
    ['ab\u{E0041}\u{FEFF}c\uD800', 'abc'],
    [`Z${'\u0300'.repeat(200)}`, `Z${'\u0300'.repeat(4)}`],
    ['Bücher 日本 é', 'Bücher 日本 é'],
  ])('named %j is shown as %j', (client_name, expected) => {
    expect(accepted({ client_name }).client_name).toBe(expected);
  });
});

describe('a registration is rejected', () => {
  it.each([
    ['invalid JSON', '{'],
    ['an array', '[]'],
    ['null', 'null'],
    ['a string', '"x"'],
    ['empty', ''],
    ['deep JSON', `{"redirect_uris":["${REDIRECT}"],"x":${'['.repeat(30_000)}${']'.repeat(30_000)}}`],
  ])('that is %s', (_, body) => {
    const read = readRegistration(body, METADATA_RULES);
    expect(read.ok ? undefined : registrationError(read.problems)).toEqual({
      status: 400,
      body: { error: 'invalid_client_metadata', error_description: 'the body must be a JSON object' },
    });
  });

  it.each<[string, object]>([
    ['none', { redirect_uris: undefined }],
    ['an empty list', { redirect_uris: [] }],
    ['a string', { redirect_uris: REDIRECT }],
    ['a number in the list', { redirect_uris: [REDIRECT, 1] }],
    ['a list in the list', { redirect_uris: [[REDIRECT]] }],
    ['eleven entries', { redirect_uris: Array<string>(11).fill(REDIRECT) }],
    ['javascript:', { redirect_uris: ['javascript:alert(1)'] }],
    ['data:', { redirect_uris: ['data:text/html,x'] }],
    ['file:', { redirect_uris: ['file:///etc/passwd'] }],
    ['mailto:', { redirect_uris: ['mailto:a@b.example'] }],
    ['127.0.0.1.evil.com', { redirect_uris: ['http://127.0.0.1.evil.com/'] }],
    ['localhost.evil.com', { redirect_uris: ['http://localhost.evil.com/'] }],
    ['[::ffff:7f00:1]', { redirect_uris: ['http://[::ffff:7f00:1]/'] }],
    ['an invalid URI next to another problem', { scope: 'nope', redirect_uris: ['x'] }],
  ])('with invalid_redirect_uri for %s', (_, members) => {
    expect(refusal(members)?.error).toBe('invalid_redirect_uri');
  });

  it.each<[string, object]>([
    ['a name of 300 characters', { client_name: 'a'.repeat(300) }],
    ['a name that is not a string', { client_name: { toString: 'x' } }],
    ['an unsupported grant alone', { grant_types: ['urn:ietf:params:oauth:grant-type:device_code'] }],
    ['a password grant', { grant_types: ['password'] }],
    ['a refresh without a code', { grant_types: ['refresh_token'] }],
    ['no grant', { grant_types: [] }],
    ['grants as a string', { grant_types: 'authorization_code' }],
    ['an implicit response', { response_types: ['token'] }],
    ['a hybrid response', { response_types: ['code', 'code id_token'] }],
    ['an unknown scope', { scope: 'openid admin' }],
    ['a scope in different case', { scope: 'OpenID' }],
    ['a scope that is not a string', { scope: 7 }],
    ['scopes that are not strings', { scope: ['openid', {}] }],
    ['a scope with a line break', { scope: 'openid\ntools' }],
    ['client_secret_basic without permission', { token_endpoint_auth_method: 'client_secret_basic' }],
    ['client_secret_post without permission', SECRET_POST],
    ['private_key_jwt', { token_endpoint_auth_method: 'private_key_jwt' }],
    ['a method named __proto__', { token_endpoint_auth_method: '__proto__' }],
    ['a key set', { jwks: { keys: [] } }],
    ['the URL of a key set', { jwks_uri: 'https://client.example/keys' }],
    ['an http client_uri', { client_uri: 'http://client.example/' }],
    ['a javascript: logo', { logo_uri: 'javascript:alert(1)' }],
    ['a policy that is not a URL', { policy_uri: 'policy' }],
    ['a control character in tos_uri', { tos_uri: 'https://client.example/\u0007' }],
    ['a non-ASCII software_id', { software_id: 'ü' }],
    ['a long software_id', { software_id: 'a'.repeat(257) }],
    ['another application_type', { application_type: 'service' }],
  ])('with invalid_client_metadata for %s', (_, members) => {
    expect(refusal(members)?.error).toBe('invalid_client_metadata');
  });

  it('with invalid_software_statement for a statement', () => {
    expect(refusal({ software_statement: 'eyJ' })?.error).toBe('invalid_software_statement');
  });

  it('with all reasons, in characters that RFC 6749 §5.2 allows, without repeating the input', () => {
    const evil = 'E"V\\I\u0000L';
    const answer = refusal({
      client_name: [evil],
      scope: evil,
      grant_types: [evil],
      application_type: evil,
      client_uri: evil,
      software_id: `${evil}ü`,
    });
    expect(answer?.error_description.split('; ')).toHaveLength(6);
    expect(answer?.error_description).toMatch(/^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/u);
    expect(answer?.error_description).not.toContain('EV');
    expect(refusal({ redirect_uris: [evil] })?.error_description).toMatch(/^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/u);
  });

  it('but accepted with members __proto__ and constructor, which have no effect', () => {
    const body = `{"redirect_uris":["${REDIRECT}"],"__proto__":{"client_name":"x","scope":"admin"},"constructor":{"prototype":{"y":1}}}`;
    const read = readRegistration(body, METADATA_RULES);
    expect(read).toEqual({ ok: true, metadata: accepted({}) });
    expect(({} as Record<string, unknown>)['y']).toBeUndefined();
  });
});

describe('a confidential client', () => {
  it.each(['client_secret_basic', 'client_secret_post'])('registers with %s when that is allowed', (method) => {
    expect(accepted({ token_endpoint_auth_method: method }, CONFIDENTIAL).token_endpoint_auth_method).toBe(method);
  });

  it.each(['http://localhost:3000/cb', 'http://127.0.0.1/cb', 'https://localhost/cb', 'cursor://host/cb'])(
    'may not have the redirect URI %s',
    (uri) => {
      expect(refusal({ ...SECRET_POST, redirect_uris: [uri] }, CONFIDENTIAL)?.error).toBe('invalid_redirect_uri');
    },
  );

  it('is created for a redirect URI that forces a secret', () => {
    const forced = { ...CONFIDENTIAL, forceConfidentialRedirectUris: [REDIRECT] };
    expect(accepted({}, forced).token_endpoint_auth_method).toBe('client_secret_post');
    expect(accepted({ redirect_uris: [`${REDIRECT}/`] }, forced).token_endpoint_auth_method).toBe('none');
    expect(accepted({}, { ...forced, allowConfidential: false }).token_endpoint_auth_method).toBe('none');
  });
});

describe('a registered client', () => {
  const registered = (members: object) =>
    createClient(accepted(members, CONFIDENTIAL), { now: 1_700_000_000_999, random: randomBytes });
  const URI = 'https://as.example/oauth/register/1';

  it('gets an id, a registration token and its metadata', () => {
    const registration = registered({});
    expect(registrationReply(registration, URI)).toEqual({
      ...accepted({}),
      client_id: expect.stringMatching(/^vcl_[\w-]{22}$/u),
      client_id_issued_at: 1_700_000_000,
      registration_access_token: expect.stringMatching(/^vra_[\w-]{43}$/u),
      registration_client_uri: URI,
    });
    expect(registered({}).client.client_id).not.toBe(registration.client.client_id);
  });

  it('receives its secret once', () => {
    const registration = registered(SECRET_POST);
    const reply = registrationReply(registration, URI);
    expect(reply).toMatchObject({ client_secret: expect.stringMatching(/^vcs_/u), client_secret_expires_at: 0 });
    const information = clientInformation(registration.client, registration.registrationToken, URI);
    expect(information).toEqual({ ...reply, client_secret: undefined });
  });

  it('is stored and printed without a secret', () => {
    const registration = registered(SECRET_POST);
    const secrets = [registration.clientSecret!.reveal(), registration.registrationToken.reveal()];
    for (const secret of secrets) {
      expect(JSON.stringify(registration.client)).not.toContain(secret);
      expect(inspect(registration) + JSON.stringify(registration)).not.toContain(secret);
    }
    expect(JSON.parse(JSON.stringify(registration.client))).toEqual(registration.client);
  });

  it('can be read and deleted only with its own token', () => {
    const [own, other] = [registered({}), registered({})];
    const bearer = `Bearer ${own.registrationToken.reveal()}`;
    expect(authorizeRegistration(bearer, own.client)).toMatchObject({ ok: true, client: own.client });
    const wrong = { ok: false, status: 401, challenge: 'Bearer error="invalid_token"' };
    expect(authorizeRegistration(bearer, other.client)).toEqual({ ...wrong, reason: 'wrong_token' });
    expect(authorizeRegistration(bearer, undefined)).toEqual({ ...wrong, reason: 'unknown_client' });
    const { registrationTokenHash: _, ...documented } = own.client;
    expect(authorizeRegistration(bearer, documented)).toEqual({ ...wrong, reason: 'wrong_token' });
    for (const header of [undefined, '', 'Bearer', 'Bearer ', `Basic ${bearer}`, `${bearer}, Bearer x`, `${bearer} x`])
      expect(authorizeRegistration(header, own.client)).toEqual({
        ok: false,
        status: 401,
        challenge: 'Bearer',
        reason: 'no_token',
      });
  });
});
