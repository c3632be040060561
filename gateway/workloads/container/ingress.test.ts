import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { isAllowedHost, isOfOtherPage } from './ingress.ts';

describe('the Host header of a request to an isolated container', () => {
  it.each(['localhost', 'LOCALHOST:8080', '127.0.0.1:4483', '[::1]:80', 'x.localhost'])('%s is allowed', (host) => {
    expect(isAllowedHost(host, undefined)).toBe(true);
  });

  it.each(['', 'evil.test', '127.0.0.1.evil.test', 'localhost@evil.test', 'evil.test/localhost', '192.168.1.2', 'a b'])(
    '%j is refused',
    (host) => {
      expect(isAllowedHost(host, undefined)).toBe(false);
      expect(isAllowedHost(host, ['mcp.test'])).toBe(false);
    },
  );

  it('is allowed by the profile', () => {
    expect(isAllowedHost('mcp.test:80', ['MCP.test'])).toBe(true);
    expect(isAllowedHost('a.mcp.test', ['mcp.test'])).toBe(false);
    expect(isAllowedHost('a.mcp.test', ['.mcp.test'])).toBe(true);
    expect(isAllowedHost('[2001:db8::1]:80', ['2001:db8::1'])).toBe(true);
  });
});

describe('row 98: a request to an isolated container', () => {
  const isRefused = (method: string, headers: Readonly<Record<string, string>>) => {
    const request = Object.assign(new IncomingMessage(new Socket()), { method });
    request.headers = { host: 'localhost:8080', ...headers };
    return isOfOtherPage(request);
  };

  it.each([
    ['POST', {}],
    ['POST', { origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' }],
    ['GET', { 'sec-fetch-site': 'none' }],
    ['GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }],
  ])('%s with %j is accepted', (method, headers) => {
    expect(isRefused(method, headers)).toBe(false);
  });

  it.each([
    ['POST', { origin: 'http://localhost:8081' }],
    ['POST', { origin: 'http://127.0.0.1:8080' }],
    ['POST', { origin: 'null' }],
    ['POST', { origin: 'http://localhost:8080', 'sec-fetch-site': 'same-site' }],
    ['GET', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' }],
    ['POST', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }],
  ])('%s with %j of another page is refused', (method, headers) => {
    expect(isRefused(method, headers)).toBe(true);
  });
});
