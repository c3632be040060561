import { describe, expect, it } from 'vitest';
import { keyPrefixProblem, parseHostPort } from './settings.ts';

describe('an address', () => {
  it.each([
    ['redis', { host: 'redis', port: 6379 }],
    ['redis.ns.svc:6380', { host: 'redis.ns.svc', port: 6380 }],
    ['127.0.0.1:1', { host: '127.0.0.1', port: 1 }],
    ['[::1]:65535', { host: '::1', port: 65_535 }],
    ['[fd00::7]', { host: 'fd00::7', port: 6379 }],
  ])('%s is one', (text, expected) => {
    expect(parseHostPort(text, 6379)).toEqual(expected);
  });

  it.each(['', ':6379', 'redis:', 'redis:0', 'redis:65536', 'redis:port', '::1', 'redis://redis', 'a b', 'user@redis'])(
    '"%s" is none',
    (text) => {
      expect(parseHostPort(text, 6379)).toBeUndefined();
    },
  );
});

describe('a key prefix', () => {
  it.each(['vmcp:auth:{default:tour}:', '{a}:', 'x{a}y:'])('%s keeps all keys in one slot', (prefix) => {
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
  ])('"%s" does not do', (prefix, problem) => {
    expect(keyPrefixProblem(prefix)).toContain(problem);
  });
});
