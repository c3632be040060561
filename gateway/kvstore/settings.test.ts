import { describe, expect, it } from 'vitest';
import { keyPrefixProblem, parseHostPort } from './settings.ts';

describe('parseHostPort', () => {
  it.each([
    ['redis', { host: 'redis', port: 6379 }],
    ['redis.ns.svc:6380', { host: 'redis.ns.svc', port: 6380 }],
    ['127.0.0.1:1', { host: '127.0.0.1', port: 1 }],
    ['[::1]:65535', { host: '::1', port: 65_535 }],
    ['[fd00::7]', { host: 'fd00::7', port: 6379 }],
  ])('accepts %s', (text, expected) => {
    expect(parseHostPort(text, 6379)).toEqual(expected);
  });

  it.each(['', ':6379', 'redis:', 'redis:0', 'redis:65536', 'redis:port', '::1', 'redis://redis', 'a b', 'user@redis'])(
    'rejects "%s"',
    (text) => {
      expect(parseHostPort(text, 6379)).toBeUndefined();
    },
  );
});

describe('keyPrefixProblem', () => {
  it.each(['vmcp:auth:{default:tour}:', '{a}:', 'x{a}y:'])('accepts %s', (prefix) => {
    expect(keyPrefixProblem(prefix)).toBeUndefined();
  });

  it.each([
    ['', 'must end with ":"'],
    ['vmcp:{a}', 'must end with ":"'],
    ['vmcp:', 'exactly one hash tag'],
    ['vmcp:{}:', 'exactly one hash tag'],
    ['{a}:{b}:', 'exactly one hash tag'],
    ['{a:', 'exactly one hash tag'],
    ['{{a}}:', 'exactly one hash tag'],
  ])('rejects "%s"', (prefix, problem) => {
    expect(keyPrefixProblem(prefix)).toContain(problem);
  });
});
