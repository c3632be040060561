import { expect, it } from 'vitest';
import { pageIsNextToMcp, prefixOf, publicPathsOf, targetAtGateway } from './public-paths.ts';

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
  ['both, with a rewritten path', 'https://example.com/tools', '/team', '/team', '/tools'],
  ['an empty prefix', 'https://example.com/team/mcp', '', '', '/team/mcp'],
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

it.each([
  ['https://example.com/mcp', true],
  ['https://example.com/team/mcp/', true],
  ['https://example.com/mcp/github', false],
])('knows for %s that the page next to it is of the gateway: %s', (resource, expected) => {
  expect(pageIsNextToMcp(at(resource))).toBe(expected);
});
