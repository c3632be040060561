import { expect, it } from 'vitest';
import type { GatewayConfig } from '../gateway-config.ts';
import { pageIsNextToMcp, prefixOf, publicPathsOf, routedPaths, targetAtGateway } from './public-paths.ts';

const at = (resourceURL: string | undefined, endpoint_prefix?: string) =>
  publicPathsOf({ oidc_config: { resourceURL }, ...(endpoint_prefix !== undefined && { endpoint_prefix }) } as never);

it.each([
  ['no URL', undefined, undefined, '', '/mcp'],
  ['the usual URL', 'https://mcp.example.com/mcp', undefined, '', '/mcp'],
  ['a URL with a path in front', 'https://example.com/team/mcp', undefined, '/team', '/team/mcp'],
  ['a slash at the end', 'https://example.com/a/b.c/mcp/', undefined, '/a/b.c', '/a/b.c/mcp'],
  ['another last segment', 'https://example.com/mcp/github', undefined, '', '/mcp/github'],
  ['an origin', 'https://example.com', undefined, '', '/mcp'],
  ['a configured prefix', undefined, '/team/', '/team', '/team/mcp'],
  ['both, which agree', 'https://example.com/team/mcp', '/team', '/team', '/team/mcp'],
  ['both, with a path that a proxy rewrites', 'https://example.com/tools', '/team', '/team', '/team/mcp'],
  ['an empty prefix', 'https://example.com/team/mcp', '', '', '/mcp'],
  ['documents of the host', 'https://example.com/.well-known/mcp', undefined, '', '/mcp'],
])('derives the public paths of %s', (_, resourceUrl, prefix, expectedPrefix, mcp) => {
  expect(at(resourceUrl, prefix)).toEqual({ prefix: expectedPrefix, mcp });
});

it.each(['https://evil.example', '/a b', '//a', 'team', '/a?b', '/.well-known', '/.well-known/x'])(
  'rejects %s as a prefix',
  (text) => {
    expect(prefixOf(text)).toBe('');
  },
);

it.each([
  ['/mcp', '/mcp'],
  ['/team/mcp', '/mcp'],
  ['/team/mcp/', '/mcp/'],
  ['/team/mcp?x=1', '/mcp?x=1'],
  ['/team/sse', '/sse'],
  ['/team/messages?sessionId=1', '/messages?sessionId=1'],
  ['/team', '/'],
  ['/team?x=1', '/?x=1'],
  ['/team/', '/'],
  ['/teammate/mcp', '/teammate/mcp'],
  ['/.well-known/oauth-protected-resource/team/mcp', '/.well-known/oauth-protected-resource/team/mcp'],
])('serves %s as %s below /team', (url, target) => {
  expect(targetAtGateway(url, at('https://example.com/team/mcp'))).toBe(target);
});

it.each([
  ['/mcp/github', '/mcp'],
  ['/mcp/github/', '/mcp/'],
  ['/mcp/github?x', '/mcp?x'],
  ['/mcp/github/more', '/mcp/github/more'],
  ['/mcp', '/mcp'],
  ['/sse', '/sse'],
])('serves %s as %s for a resource with another last segment', (url, target) => {
  expect(targetAtGateway(url, at('https://example.com/mcp/github'))).toBe(target);
});

const routed = (config: object) => routedPaths(config as GatewayConfig);

it('lists the transports and the page of an anonymous virtual server', () => {
  expect(routed({})).toEqual({ streams: ['/mcp', '/sse', '/messages'], exact: ['/'], below: [] });
  expect(routed({ endpoint_prefix: '/team' })).toEqual({
    streams: ['/team/mcp', '/team/sse', '/team/messages'],
    exact: ['/team', '/team/'],
    below: [],
  });
});

it('lists the documents of a protected resource and the paths of its authorization server', () => {
  const issuer = 'https://example.com/team';
  const own = { oauth2_config: { redirect_uri: 'https://example.com/team/back' } };
  const config = {
    oidc_config: { resourceURL: `${issuer}/mcp` },
    embedded_auth_server_config: {
      issuer,
      authorization_endpoint_base_url: 'https://login.example.com',
      upstreams: [own],
    },
  };
  expect(routed(config)).toEqual({
    streams: ['/team/mcp', '/team/sse', '/team/messages'],
    exact: [
      '/team',
      '/team/',
      '/.well-known/oauth-authorization-server/team',
      '/team/.well-known/oauth-authorization-server',
      '/.well-known/openid-configuration/team',
      '/team/.well-known/openid-configuration',
      '/team/.well-known/jwks.json',
      '/team/back',
    ],
    below: ['/.well-known/oauth-protected-resource/team/mcp', '/team/oauth', '/oauth'],
  });
});

it('includes the document without a suffix for a server at the root of its host only', () => {
  const documentsOf = (resourceURL: string) => routed({ oidc_config: { resourceURL } }).below;
  expect(documentsOf('https://example.com/mcp')).toEqual(['/.well-known/oauth-protected-resource']);
  expect(documentsOf('https://example.com/tools')).toEqual(['/.well-known/oauth-protected-resource/tools']);
});

it.each([
  ['https://example.com/mcp', true],
  ['https://example.com/team/mcp/', true],
  ['https://example.com/mcp/github', false],
])('knows for %s that the page next to it is of the gateway: %s', (resource, expected) => {
  expect(pageIsNextToMcp(at(resource))).toBe(expected);
});
