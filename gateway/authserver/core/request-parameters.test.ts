import { describe, expect, it } from 'vitest';
import { parseParameters } from './request-parameters.ts';

describe('parameters of a request', () => {
  it('are a map without empty values', () => {
    expect([...parseParameters('a=1&b=&b=2&a=3&c=').firsts]).toEqual([
      ['a', '1'],
      ['b', '2'],
    ]);
  });

  it('are decoded as form data', () => {
    const parameters = parseParameters('scope=a+b&redirect_uri=https%3A%2F%2Fx%2Fcb%3Fq%3D1&state=%C3%A9');
    expect([parameters.one('scope'), parameters.one('redirect_uri'), parameters.one('state')]).toEqual([
      'a b',
      'https://x/cb?q=1',
      'é',
    ]);
  });

  it('without a value are absent (RFC 6749 §3.1)', () => {
    const parameters = parseParameters('state=&resource=&resource=https%3A%2F%2Fa&nonce');
    expect([parameters.one('state'), parameters.one('nonce'), parameters.one('never')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(parameters.all('resource')).toEqual(['https://a']);
  });

  it.each([
    ['state=a&state=b', ['state']],
    ['state=a&state=a', ['state']],
    ['state=&state=a', ['state']],
    ['unknown=1&unknown=2&state=a&%73tate=b', ['unknown', 'state']],
    ['resource=a&resource=b', []],
    ['State=a&state=b', []],
  ])('in %j are duplicated: %j', (encoded, duplicated) => {
    expect(parseParameters(encoded).duplicated).toEqual(duplicated);
  });

  it.each(['__proto__', 'constructor', 'toString'])('%s is a name like any other', (name) => {
    expect(parseParameters('').one(name)).toBeUndefined();
    expect(parseParameters(`${name}=x`).one(name)).toBe('x');
    expect(parseParameters(`${name}=x&${name}=y`).duplicated).toEqual([name]);
  });
});
