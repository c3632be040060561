import { describe, expect, it } from 'vitest';
import { isAllowedHost } from './ingress.ts';

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
