import { describe, expect, it } from 'vitest';
import { parseExactJson, dotPathFault, valueAt } from './protocol/token-reply.ts';
import { profileIn, STANDARD_FIELDS, subjectIn, syntheticIdentity } from './identity.ts';

const fields = (...subject: string[]) => ({ ...STANDARD_FIELDS, subject });
const parsed = (text: string): unknown => JSON.parse(text);

const SUBJECTS: readonly (readonly [string, unknown, readonly string[], string | undefined])[] = [
  ['sub', { sub: 'ann' }, ['sub'], 'ann'],
  ['the first present member', { login: '', id: 7, sub: 'x' }, ['login', 'id', 'sub'], '7'],
  ['a GitHub id', { id: 583_231 }, ['id'], '583231'],
  ['the largest exact number', { id: Number.MAX_SAFE_INTEGER }, ['id'], '9007199254740991'],
  ['a number that is not exact', parsed('{"id": 9007199254740993}'), ['id'], undefined],
  ['an exact id beyond 2^53', parseExactJson('{"id": 9007199254740993}'), ['id'], '9007199254740993'],
  ['its neighbour', parseExactJson('{"id": 9007199254740992}'), ['id'], '9007199254740992'],
  [
    'an id beyond 2^64',
    parseExactJson('{"data":[{"id":18446744073709551617}]}'),
    ['data.0.id'],
    '18446744073709551617',
  ],
  ['a negative one', parseExactJson('{"id": -9007199254740993}'), ['id'], '-9007199254740993'],
  ['an id of 256 digits', parseExactJson(`{"id": ${'9'.repeat(256)}}`), ['id'], undefined],
  ['1e21 next to a long id', parseExactJson('{"sub": 1e21, "id": 9007199254740993}'), ['sub'], undefined],
  ['a long fraction', parseExactJson('{"id": 9007199254740993.0}'), ['id'], undefined],
  ['1e21', { sub: 1e21 }, ['sub'], undefined],
  ['a fraction', { sub: 1.5 }, ['sub'], undefined],
  ['zero', { sub: 0 }, ['sub'], '0'],
  ['an object', { sub: { id: 'ann' } }, ['sub'], undefined],
  ['a list', { sub: ['ann'] }, ['sub'], undefined],
  ['an empty text', { sub: '' }, ['sub'], undefined],
  ['null', { sub: null }, ['sub'], undefined],
  ['true', { sub: true }, ['sub'], undefined],
  ['__proto__', parsed('{"__proto__": "ann"}'), ['__proto__'], undefined],
  ['through __proto__', parsed('{"__proto__": {"sub": "ann"}}'), ['__proto__.sub', 'sub'], undefined],
  ['through constructor', {}, ['constructor.name'], undefined],
  ['a path', { data: { user: { id: 'ann' } } }, ['data.user.id'], 'ann'],
  ['a path through a list', { users: [{ id: 'ann' }] }, ['users.0.id'], 'ann'],
  ['a claim with dots in its name', { 'https://example.com/id': 'ann' }, ['https://example.com/id'], 'ann'],
  ['255 characters', { sub: 'a'.repeat(255) }, ['sub'], 'a'.repeat(255)],
  ['256 characters', { sub: 'a'.repeat(256) }, ['sub'], undefined],
  ['a line break', { sub: 'ann\nbob' }, ['sub'], undefined],
  ['a document that is not an object', 'ann', ['sub', 'length', '0'], undefined],
];

describe('a subject', () => {
  it.each(SUBJECTS)('%s', (_name, document, subject, expected) => {
    expect(subjectIn(document, fields(...subject))).toBe(expected);
  });

  it('is derived from the access token when the provider does not identify the user', () => {
    expect(syntheticIdentity('token')).toEqual({
      subject: 'tk-3c469e9d6c5875d37a43f353d4f88e61',
      synthetic: true,
      claims: {},
    });
    expect(syntheticIdentity('token').subject).not.toBe(syntheticIdentity('token2').subject);
  });
});

describe('a profile', () => {
  it('leaves out values that are too long or not texts', () => {
    expect(profileIn({ name: 'Ann', email: 'ann@example.com' }, STANDARD_FIELDS)).toEqual({
      name: 'Ann',
      email: 'ann@example.com',
    });
    const odd = { name: 'x'.repeat(257), email: ['ann@example.com'] };
    expect(profileIn(odd, STANDARD_FIELDS)).toEqual({ name: undefined, email: undefined });
    expect(profileIn({ name: 'a\u0000b' }, STANDARD_FIELDS).name).toBeUndefined();
  });
});

describe('a dot path', () => {
  it.each([
    ['', 'has an empty part'],
    ['a..b', 'has an empty part'],
    ['.a', 'has an empty part'],
    ['a.__proto__', 'goes through "__proto__"'],
    ['constructor', 'goes through "constructor"'],
    ['a.'.repeat(16).concat('a'), 'has more than 16 parts'],
    ['a'.repeat(257), 'is longer than 256'],
  ])('%j is rejected', (path, why) => {
    expect(dotPathFault(path)).toContain(why);
    expect(valueAt({ '': 1, a: { '': { b: 1 } } }, path)).toBeUndefined();
  });

  it('reads only own members and list indexes', () => {
    const document = { list: ['x', 'y'], text: 'abc', deep: { 0: 'zero' } };
    expect(valueAt(document, 'list.1')).toBe('y');
    expect(valueAt(document, 'deep.0')).toBe('zero');
    for (const path of [
      'list.length',
      'list.01',
      'list.-1',
      'list.2',
      'text.0',
      'text.length',
      'toString',
      'deep.toString',
    ]) {
      expect(valueAt(document, path)).toBeUndefined();
    }
  });
});
