import { describe, expect, it } from 'vitest';
import type { Problem } from '../contract/problem.ts';
import type { UrlFlags, VariantScope } from '../contract/variant.ts';
import { createAuthenticator, readOutgoingEntry, resolveStrategy, STRATEGIES } from './index.ts';
import { fileType } from './strategy.ts';
import { strategyWorld } from './testdata/strategy-deps.ts';

describe('the strategies', () => {
  it('have one name each and declare whether they are per user and need the authorization server', () => {
    expect(STRATEGIES.map(({ type, perUser, needsAuthServer }) => [type, perUser, needsAuthServer ?? false])).toEqual([
      ['unauthenticated', false, false],
      ['upstreamInject', true, true],
      ['tokenExchange', true, false],
      ['headerInjection', false, false],
      ['cloudSts', true, false],
    ]);
  });

  it('have a member of their own except for unauthenticated', () => {
    expect(STRATEGIES.filter(({ spec }) => spec === undefined).map(({ type }) => type)).toEqual(['unauthenticated']);
  });

  it('have snake_case types in configuration files', () => {
    expect(STRATEGIES.map(({ type }) => fileType(type))).toEqual([
      'unauthenticated',
      'upstream_inject',
      'token_exchange',
      'header_injection',
      'cloud_sts',
    ]);
  });
});

describe('unauthenticated', () => {
  it('sends no headers for any user and does not retry', async () => {
    const { deps } = await strategyWorld();
    const authenticator = createAuthenticator({ type: 'unauthenticated' }, deps);
    expect(authenticator.perUser).toBe(false);
    expect(authenticator.headers(undefined)).toEqual({});
    expect(authenticator.refused(undefined, {})).toBe(false);
  });
});

it('an unknown strategy is rejected instead of treated as unauthenticated', async () => {
  const { deps } = await strategyWorld();
  expect(() => createAuthenticator({ type: 'basic' }, deps)).toThrow('no outgoing strategy "basic"');
  expect(() => createAuthenticator({ type: 'headerInjection' }, deps)).toThrow();
  expect(() => createAuthenticator({ type: 'constructor' }, deps)).toThrow();
});

describe('resolve', () => {
  function resolved(spec: { readonly type: string }, upstreams: readonly string[] = []) {
    const problems: Problem[] = [];
    const urls: (readonly [string, string, UrlFlags])[] = [];
    const scope: VariantScope = {
      upstreams: new Set(upstreams),
      secretFile: ({ name, key }) => `/secrets/${name}/${key}`,
      checkUrl: (url, path, { allowPrivateIPs, insecureAllowHTTP }) =>
        void urls.push([
          url,
          path,
          {
            ...(allowPrivateIPs !== undefined && { allowPrivateIPs }),
            ...(insecureAllowHTTP !== undefined && { insecureAllowHTTP }),
          },
        ]),
      problem: (problem) => void problems.push(problem),
    };
    return { config: resolveStrategy(spec, scope), problems, urls };
  }

  it('converts every member of a resource to the file form, with secrets as paths', () => {
    const valueSecretRef = { name: 's', key: 'k' };
    expect(resolved({ type: 'unauthenticated' }).config).toEqual({ type: 'unauthenticated' });
    const header = { type: 'headerInjection', headerInjection: { headerName: 'X-Key', valueSecretRef } };
    expect(resolved(header).config).toEqual({
      type: 'header_injection',
      header_name: 'X-Key',
      header_value_file: '/secrets/s/k',
    });
    const upstream = { type: 'upstreamInject', upstreamInject: { providerName: 'github' } };
    expect(resolved(upstream, ['github'])).toEqual({
      config: { type: 'upstream_inject', provider_name: 'github' },
      problems: [],
      urls: [],
    });
  });

  const EXCHANGE = {
    tokenUrl: 'https://login.example.com/token',
    clientId: 'vmcp',
    clientSecretRef: { name: 'login', key: 'secret' },
    audience: 'backend',
    resource: 'https://backend.example.com/mcp',
    scopes: ['read'],
    subjectProviderName: 'corp',
    subjectTokenType: 'id_token',
    requestedTokenType: 'jwt',
    tokenEndpointAuthMethod: 'client_secret_post',
    externalTokenHeaderName: 'X-Token',
    allowPrivateIPs: true,
    insecureAllowHTTP: true,
  };
  const exchange = (tokenExchange: object) => ({ type: 'tokenExchange', tokenExchange });

  it('converts every member of a token exchange to a file form that the gateway accepts', () => {
    const { config, problems, urls } = resolved(exchange(EXCHANGE), ['corp']);
    expect(config).toEqual({
      type: 'token_exchange',
      token_url: 'https://login.example.com/token',
      client_id: 'vmcp',
      client_secret_file: '/secrets/login/secret',
      audience: 'backend',
      resource: 'https://backend.example.com/mcp',
      scopes: ['read'],
      subject_provider_name: 'corp',
      subject_token_type: 'id_token',
      requested_token_type: 'jwt',
      token_endpoint_auth_method: 'client_secret_post',
      header_strategy: 'custom',
      external_token_header_name: 'X-Token',
      allow_private_ips: true,
      insecure_allow_http: true,
    });
    expect(problems).toEqual([]);
    expect(urls).toEqual([[EXCHANGE.tokenUrl, 'tokenUrl', { allowPrivateIPs: true, insecureAllowHTTP: true }]]);
    expect(readOutgoingEntry(config)).toEqual({ config });
  });

  it('omits members that a token exchange does not set', () => {
    const { tokenUrl } = EXCHANGE;
    const off = { tokenUrl, allowPrivateIPs: false, insecureAllowHTTP: false };
    expect(resolved(exchange(off)).config).toEqual({ type: 'token_exchange', token_url: tokenUrl });
  });

  it('reports a header that is reserved for the protocol', () => {
    const valueSecretRef = { name: 's', key: 'k' };
    const header = { type: 'headerInjection', headerInjection: { headerName: 'Accept', valueSecretRef } };
    const { tokenUrl } = EXCHANGE;
    const custom = exchange({ tokenUrl, externalTokenHeaderName: 'Content-Type' });
    expect([header, custom].flatMap((spec) => resolved(spec).problems)).toMatchObject([
      { reason: 'RestrictedHeader', path: 'headerName' },
      { reason: 'RestrictedHeader', path: 'externalTokenHeaderName' },
    ]);
  });

  it.each([
    ['upstreamInject', { upstreamInject: { providerName: 'github' } }, 'providerName'],
    ['tokenExchange', { tokenExchange: { ...EXCHANGE, subjectProviderName: 'github' } }, 'subjectProviderName'],
  ])('reports an undeclared provider that %s names', (type, member, path) => {
    expect(resolved({ type, ...member }, ['corp', 'acme']).problems).toEqual([
      {
        reason: 'UpstreamProviderUnknown',
        path,
        message: 'there is no upstream provider "github": use "acme" or "corp"',
      },
    ]);
    expect(resolved({ type, ...member }).problems).toMatchObject([{ reason: 'UpstreamProviderUnknown', path }]);
  });
});

describe('an entry of the configuration', () => {
  const HEADER = { type: 'header_injection', header_name: 'Authorization', header_value_file: '/s' };
  const EXCHANGE = { type: 'token_exchange', token_url: 'https://login.example.com/token' };
  const UPSTREAM = { type: 'upstream_inject', provider_name: 'github' };

  it.each<[object]>([
    [{ type: 'unauthenticated' }],
    [HEADER],
    [{ ...UPSTREAM, header_strategy: 'custom', custom_header_name: 'X-Token' }],
    [{ ...EXCHANGE, token_url: 'http://127.0.0.1:8080/token' }],
    [{ ...EXCHANGE, token_url: 'http://[::1]/token' }],
    [{ ...EXCHANGE, token_url: 'http://login.internal/token', insecure_allow_http: true }],
    [{ ...EXCHANGE, client_id: 'a', client_secret_file: '/s', subject_token_type: 'jwt' }],
  ])('%j is accepted unchanged', (entry) => {
    expect(readOutgoingEntry(entry)).toEqual({ config: entry });
  });

  it('may contain null for members that it does not set', () => {
    expect(readOutgoingEntry({ ...EXCHANGE, audience: null, scopes: null })).toEqual({ config: EXCHANGE });
  });

  it.each<[object | null | string, string, string]>([
    [null, 'type', 'InvalidValue'],
    ['header_injection', 'type', 'InvalidValue'],
    [{}, 'type', 'InvalidValue'],
    [{ type: 'headerInjection' }, 'type', 'InvalidValue'],
    [{ type: 'constructor' }, 'type', 'InvalidValue'],
    [{ type: 'unauthenticated', header_name: 'a' }, 'header_name', 'UnknownField'],
    [{ type: 'header_injection', header_name: 'a' }, 'header_value_file', 'MissingField'],
    [{ ...HEADER, header_value: 'sesame' }, 'header_value', 'UnknownField'],
    [{ ...HEADER, header_name: 'X Key' }, 'header_name', 'InvalidValue'],
    [{ ...HEADER, header_name: 'X-Key\r\n' }, 'header_name', 'InvalidValue'],
    [{ ...HEADER, header_name: 'Host' }, 'header_name', 'RestrictedHeader'],
    [{ ...HEADER, header_name: 'Content-Length' }, 'header_name', 'RestrictedHeader'],
    [{ ...HEADER, header_name: 'Mcp-Session-Id' }, 'header_name', 'RestrictedHeader'],
    [{ ...HEADER, header_name: 'Transfer-Encoding' }, 'header_name', 'RestrictedHeader'],
    [{ ...HEADER, header_name: 'Accept' }, 'header_name', 'RestrictedHeader'],
    [{ ...HEADER, header_value_file: 7 }, 'header_value_file', 'InvalidType'],
    [{ type: 'upstream_inject' }, 'provider_name', 'MissingField'],
    [{ ...UPSTREAM, header_strategy: 'both' }, 'header_strategy', 'InvalidValue'],
    [{ ...UPSTREAM, header_strategy: 'custom' }, 'custom_header_name', 'MissingField'],
    [
      { ...UPSTREAM, header_strategy: 'custom', custom_header_name: 'Cookie' },
      'custom_header_name',
      'RestrictedHeader',
    ],
    [{ type: 'token_exchange' }, 'token_url', 'MissingField'],
    [{ ...EXCHANGE, client_secret: 'sesame' }, 'client_secret', 'UnknownField'],
    [{ ...EXCHANGE, client_secret_file: '/s' }, 'client_id', 'MissingField'],
    [{ ...EXCHANGE, subject_token_type: 'saml2' }, 'subject_token_type', 'InvalidValue'],
    [{ ...EXCHANGE, requested_token_type: 'refresh_token' }, 'requested_token_type', 'InvalidValue'],
    [{ ...EXCHANGE, token_endpoint_auth_method: 'private_key_jwt' }, 'token_endpoint_auth_method', 'InvalidValue'],
    [{ ...EXCHANGE, token_endpoint_auth_method: 'client_secret_post' }, 'client_secret_file', 'MissingField'],
    [{ ...EXCHANGE, header_strategy: 'custom' }, 'external_token_header_name', 'MissingField'],
    [{ ...EXCHANGE, external_token_header_name: 'Host' }, 'external_token_header_name', 'RestrictedHeader'],
    [{ ...EXCHANGE, token_url: 'login.example.com' }, 'token_url', 'InvalidUrl'],
    [{ ...EXCHANGE, token_url: 'file:///etc/passwd' }, 'token_url', 'InvalidUrl'],
    [{ ...EXCHANGE, token_url: 'https://a/t#b' }, 'token_url', 'InvalidUrl'],
    [{ ...EXCHANGE, token_url: 'https://u:sesame@a/t' }, 'token_url', 'CredentialsInUrl'],
    [{ ...EXCHANGE, token_url: 'http://login.example.com/t' }, 'token_url', 'InsecureUrl'],
    [{ ...EXCHANGE, token_url: 'http://127.0.0.1.example.com/t' }, 'token_url', 'InsecureUrl'],
  ])('%j is rejected at %s with reason %s', (entry, path, reason) => {
    const read = readOutgoingEntry(entry);
    const problems = 'problems' in read ? read.problems : [];
    expect(problems.map((problem) => [problem.path, problem.reason])).toEqual([[path, reason]]);
    expect(problems[0]?.message).not.toContain('sesame');
  });
});
