import { describe, expect, it } from 'vitest';
import { classify } from './classify.ts';
import { TokenRefused } from '../refusal.ts';

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const HEADER = part({ alg: 'RS256', kid: 'k?>' });
const PAYLOAD = part({ sub: 'u' });
const JWT = `${HEADER}.${PAYLOAD}.c2ln`;

function reasonFor(token: string): string | undefined {
  try {
    classify(token);
    return undefined;
  } catch (error) {
    return error instanceof TokenRefused ? error.reason : String(error);
  }
}

describe('classify', () => {
  it('returns the parts of a JWT', () => {
    expect(classify(JWT)).toEqual({ header: { alg: 'RS256', kid: 'k?>' }, payload: PAYLOAD });
  });

  it.each([
    ['padding at its end', `${JWT}=`],
    ['more padding at its end', `${JWT}==`],
    ['padding in its header', `${HEADER}=.${PAYLOAD}.c2ln`],
    ['padding in its payload', `${HEADER}.${PAYLOAD}=.c2ln`],
    ['a dot at its end', `${JWT}.`],
    ['three dots at its end', `${JWT}...`],
    ['a dot at its start', `.${JWT}`],
    ['many dots at its start', `........${JWT}`],
    ['a line break', `${JWT}\n`],
    ['six parts', `${HEADER}.a.b.c.d.e`],
    ['a fourth part', `${JWT}.c2ln`],
    ['an extra dot in its middle', `${HEADER}..${PAYLOAD}.c2ln`],
    ['its signature cut off', `${HEADER}.${PAYLOAD}`],
    ['a header only', HEADER],
    ['a header and a dot only', `${HEADER}.`],
    ['characters of plain base64', `${HEADER}.${PAYLOAD}.c2/n+w`],
    ['characters that are not base64', `~${HEADER}.${PAYLOAD}.c2ln`],
    ['disclosures of an SD-JWT', `${JWT}~WyJzYWx0IiwiYSIsMV0~`],
  ])('refuses a JWT with %s as malformed', (_what, token) => {
    expect(reasonFor(token)).toBe('malformed');
  });

  it('refuses a token of five parts as encrypted', () => {
    expect(reasonFor(`${part({ alg: 'dir', enc: 'A256GCM' })}..aXY.dGV4dA.dGFn`)).toBe('encrypted');
    expect(reasonFor('a.b.c.d.e')).toBe('encrypted');
  });

  it.each([
    'abc',
    'eyeball',
    'a.b.c',
    'a.b',
    'AAAA==',
    '...',
    `${part({ typ: 'x' })}.b.c`,
    `${part([1])}.b.c`,
    'vrt_x.y',
  ])('returns undefined for the opaque token %s', (token) => {
    expect(classify(token)).toBeUndefined();
  });
});
