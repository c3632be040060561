import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { upstreamProviders } from '../../../../crds/kinds/fields/auth-server-config.ts';
import { EmbeddedAuthServerConfig } from '../../../contract/run-config/auth-server.ts';
import type { Problem } from '../../../contract/problem.ts';
import type { BundleRef } from '../../../contract/references.ts';
import { createUpstream, resolveUpstream, upstreamProblems, UPSTREAMS } from '../index.ts';
import { oauth2Entry, oidcEntry } from '../testdata/upstream-under-test.ts';

const OIDC = { issuer: 'https://idp.example' };
const PLAIN = { url: (endpoint: string) => `https://idp.example/${endpoint}` };

const pathsOf = (problems: readonly Problem[]) => problems.map(({ path }) => path);

const REFUSED: readonly (readonly [string, object, readonly string[]])[] = [
  ['an unknown type', { type: 'saml' }, ['type']],
  ['no block', { type: 'oidc' }, ['oidc_config']],
  ['an empty block', { type: 'oidc', oidc_config: {} }, ['oidc_config.issuer_url', 'oidc_config.client_id']],
  ['an http issuer', oidcEntry({ issuer: 'http://idp.example' }), ['oidc_config.issuer_url']],
  ['an issuer with a query', oidcEntry({ issuer: 'https://idp.example?x=1' }), ['oidc_config.issuer_url']],
  ['an issuer with a password', oidcEntry({ issuer: 'https://a:b@idp.example' }), ['oidc_config.issuer_url']],
  ['scopes without openid', oidcEntry(OIDC, { scopes: ['email'] }), ['oidc_config.scopes']],
  ['two scopes in one item', oidcEntry(OIDC, { scopes: ['openid email', 'openid'] }), ['oidc_config.scopes']],
  [
    'a secret file and a secret variable',
    oidcEntry(OIDC, { client_secret_file: '/a', client_secret_env_var: 'A' }),
    ['oidc_config.client_secret_env_var'],
  ],
  ['a claim that is a path', oidcEntry(OIDC, { subject_claim: 'a.b' }), ['oidc_config.subject_claim']],
  [
    'a redirect URI with a query',
    oidcEntry(OIDC, { redirect_uri: 'https://g.example/cb?x=1' }),
    ['oidc_config.redirect_uri'],
  ],
  [
    'a redirect URI that is not normalised',
    oidcEntry(OIDC, { redirect_uri: 'https://G.example/a/../cb' }),
    ['oidc_config.redirect_uri'],
  ],
  [
    'a reserved parameter',
    oidcEntry(OIDC, { additional_authorization_params: { state: 'x' } }),
    ['oidc_config.additional_authorization_params.state'],
  ],
  [
    'a reserved parameter of the token request',
    oauth2Entry(PLAIN, { additional_token_params: { resource: 'https://api.example', grant_type: 'x' } }),
    ['oauth2_config.additional_token_params.grant_type'],
  ],
  [
    '17 parameters of the token request',
    oauth2Entry(PLAIN, {
      additional_token_params: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`p${String(i)}`, 'x'])),
    }),
    ['oauth2_config.additional_token_params'],
  ],
  [
    '17 parameters',
    oidcEntry(OIDC, {
      additional_authorization_params: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`p${String(i)}`, 'x'])),
    }),
    ['oidc_config.additional_authorization_params'],
  ],
  [
    'userinfo with Authorization',
    oidcEntry(OIDC, {
      userinfo_override: {
        endpoint_url: 'https://x.example',
        additional_headers: { AUTHORIZATION: 'x', 'X-A': 'a\nb' },
      },
    }),
    [
      'oidc_config.userinfo_override.additional_headers.AUTHORIZATION',
      'oidc_config.userinfo_override.additional_headers.X-A',
    ],
  ],
  [
    'no endpoints',
    { type: 'oauth2', oauth2_config: { client_id: 'c' } },
    ['oauth2_config.authorization_endpoint', 'oauth2_config.token_endpoint'],
  ],
  [
    'an http token endpoint',
    oauth2Entry(PLAIN, { token_endpoint: 'http://idp.example/t' }),
    ['oauth2_config.token_endpoint'],
  ],
  [
    'a javascript: authorization endpoint',
    oauth2Entry(PLAIN, { authorization_endpoint: 'javascript:alert(1)' }),
    ['oauth2_config.authorization_endpoint'],
  ],
  [
    'a scope in the endpoint',
    oauth2Entry(PLAIN, { authorization_endpoint: 'https://a.example/?scope=x' }),
    ['oauth2_config.authorization_endpoint'],
  ],
  [
    'a mapping without access token',
    oauth2Entry(PLAIN, { token_response_mapping: {} }),
    ['oauth2_config.token_response_mapping.access_token_path'],
  ],
  [
    'a path through __proto__',
    oauth2Entry(PLAIN, { token_response_mapping: { access_token_path: '__proto__.a' } }),
    ['oauth2_config.token_response_mapping.access_token_path'],
  ],
  [
    'a registered client beside a configured one, in two ways',
    oauth2Entry(PLAIN, {
      client_secret_file: '/secret',
      dcr_config: { discovery_url: 'https://a.example/m', registration_endpoint: 'http://a.example/r' },
    }),
    [
      ...['oauth2_config.dcr_config', 'oauth2_config.dcr_config', 'oauth2_config.dcr_config'],
      'oauth2_config.dcr_config.registration_endpoint',
    ],
  ],
  [
    'a registered client without an address',
    { type: 'oauth2', oauth2_config: { dcr_config: {} } },
    ['oauth2_config.authorization_endpoint', 'oauth2_config.token_endpoint', 'oauth2_config.dcr_config'],
  ],
  ['userinfo without a URL', oauth2Entry(PLAIN, { userinfo: {} }), ['oauth2_config.userinfo.endpoint_url']],
  [
    'userinfo by PUT',
    oauth2Entry(PLAIN, { userinfo: { endpoint_url: 'https://x.example', http_method: 'PUT' } }),
    ['oauth2_config.userinfo.http_method'],
  ],
  [
    'a field through constructor',
    oauth2Entry(PLAIN, {
      userinfo: { endpoint_url: 'https://x.example', field_mapping: { subject_fields: ['id', 'constructor.name'] } },
    }),
    ['oauth2_config.userinfo.field_mapping.subject_fields[1]'],
  ],
  [
    'userinfo and identity_from_token',
    oauth2Entry(PLAIN, {
      userinfo: { endpoint_url: 'https://x.example' },
      identity_from_token: { subject_path: 'id' },
    }),
    ['oauth2_config.identity_from_token'],
  ],
];

describe('an entry of upstreams', () => {
  it.each(REFUSED)('is rejected with %s', (_name, entry, paths) => {
    const problems = upstreamProblems(entry);
    expect(pathsOf(problems)).toEqual(paths);
    for (const { message } of problems) expect(message.length).toBeGreaterThan(10);
    expect(() => createUpstream(entry, { name: 'corp' } as never)).toThrow('upstream provider "corp"');
  });

  it.each([
    ['oidc', oidcEntry(OIDC)],
    ['oidc on loopback', oidcEntry({ issuer: 'http://127.0.0.1:4400' })],
    ['http oidc, when that is allowed', oidcEntry({ issuer: 'http://idp.svc' }, { insecure_allow_http: true })],
    ['oauth2', oauth2Entry(PLAIN)],
    [
      'a field whose name is a URL',
      oauth2Entry(PLAIN, {
        userinfo: { endpoint_url: 'https://x.example', field_mapping: { subject_fields: ['https://x.example/id'] } },
      }),
    ],
  ])('is accepted: %s', (_name, entry) => {
    expect(upstreamProblems(entry)).toEqual([]);
  });
});

describe('the variants', () => {
  type Shape = Readonly<Record<string, unknown>>;

  it('have the fields of the kind', () => {
    const members = upstreamProviders.items.properties as Readonly<Record<string, unknown>>;
    for (const { type, spec } of UPSTREAMS) expect(spec).toEqual(members[`${type}Config`]);
  });

  it('have all members of the run configuration', () => {
    const entry = EmbeddedAuthServerConfig.properties.upstreams.items.properties as unknown as Shape;
    for (const { type, config } of UPSTREAMS) {
      const { properties } = entry[`${type}_config`] as { properties: Shape };
      expect(Object.keys(config.properties)).toEqual(expect.arrayContaining(Object.keys(properties)));
    }
  });

  it('resolve a resource to a configuration without problems', () => {
    const problems: Problem[] = [];
    const checked: string[] = [];
    const scope = {
      upstreams: new Set<string>(),
      secretFile: ({ name, key }: { name: string; key: string }) => `/secrets/${name}/${key}`,
      bundleFile: (ref: BundleRef | undefined) => ref?.configMapRef && `/configmaps/${ref.configMapRef.name}`,
      checkUrl: (url: string) => void checked.push(url),
      problem: (problem: Problem) => void problems.push(problem),
    };
    const endpointUrl = 'https://api.example/user';
    const oauth2 = resolveUpstream(
      {
        name: 'github',
        type: 'oauth2',
        oauth2Config: {
          authorizationEndpoint: 'https://idp.example/a',
          tokenEndpoint: 'https://idp.example/t',
          clientId: 'c',
          clientSecretRef: { name: 's', key: 'k' },
          scopes: ['repo'],
          additionalAuthorizationParams: { owner: 'user' },
          additionalTokenParams: { resource: 'https://api.example' },
          omitScopeOnRefresh: true,
          caBundleRef: { configMapRef: { name: 'corp-ca' } },
          allowPrivateIPs: true,
          userInfo: {
            endpointUrl,
            httpMethod: 'POST',
            additionalHeaders: { 'X-A': 'b' },
            fieldMapping: { subjectFields: ['id'] },
          },
          tokenResponseMapping: { accessTokenPath: 'a.b', expiresInPath: 'c' },
        },
      } as never,
      scope,
    );
    expect(oauth2).toEqual({
      name: 'github',
      type: 'oauth2',
      oauth2_config: {
        authorization_endpoint: 'https://idp.example/a',
        token_endpoint: 'https://idp.example/t',
        client_id: 'c',
        client_secret_file: '/secrets/s/k',
        scopes: ['repo'],
        additional_authorization_params: { owner: 'user' },
        additional_token_params: { resource: 'https://api.example' },
        omit_scope_on_refresh: true,
        ca_file: '/configmaps/corp-ca',
        allow_private_ips: true,
        userinfo: {
          endpoint_url: endpointUrl,
          http_method: 'POST',
          additional_headers: { 'X-A': 'b' },
          field_mapping: { subject_fields: ['id'] },
        },
        token_response_mapping: { access_token_path: 'a.b', expires_in_path: 'c' },
      },
    });
    const oidcConfig = {
      issuerUrl: 'https://idp.example',
      clientId: 'c',
      subjectClaim: 'oid',
      userInfoOverride: { endpointUrl },
    };
    const oidc = resolveUpstream({ name: 'corp', type: 'oidc', oidcConfig } as never, scope);
    for (const entry of [oauth2, oidc]) {
      expect(upstreamProblems(entry)).toEqual([]);
      const variant = UPSTREAMS.find(({ type }) => type === entry.type)!;
      expect(Value.Check(variant.config, (entry as Shape)[`${variant.type}_config`])).toBe(true);
    }
    expect(checked).toEqual(['https://idp.example/t', endpointUrl, 'https://idp.example', endpointUrl]);
    expect(problems).toEqual([]);
    resolveUpstream({ name: 'x', type: 'oidc', oidcConfig: { ...oidcConfig, scopes: ['email'] } } as never, scope);
    expect(pathsOf(problems)).toEqual(['scopes']);
  });
});
