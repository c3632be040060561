import { describe, expect, it } from 'vitest';
import { parseExactly, applyPatch, readPatch } from './json-patch.ts';

const patched = (document: unknown, patch: unknown): unknown => applyPatch(structuredClone(document), readPatch(patch));

/** The examples of RFC 6902, appendix A: title, document, patch, result. */
const EXAMPLES: readonly (readonly [string, unknown, unknown, unknown])[] = [
  ['A.1', { foo: 'bar' }, [{ op: 'add', path: '/baz', value: 'qux' }], { baz: 'qux', foo: 'bar' }],
  ['A.2', { foo: ['bar', 'baz'] }, [{ op: 'add', path: '/foo/1', value: 'qux' }], { foo: ['bar', 'qux', 'baz'] }],
  ['A.3', { baz: 'qux', foo: 'bar' }, [{ op: 'remove', path: '/baz' }], { foo: 'bar' }],
  ['A.4', { foo: ['bar', 'qux', 'baz'] }, [{ op: 'remove', path: '/foo/1' }], { foo: ['bar', 'baz'] }],
  ['A.5', { baz: 'qux', foo: 'bar' }, [{ op: 'replace', path: '/baz', value: 'boo' }], { baz: 'boo', foo: 'bar' }],
  [
    'A.6',
    { foo: { bar: 'baz', waldo: 'fred' }, qux: { corge: 'grault' } },
    [{ op: 'move', from: '/foo/waldo', path: '/qux/thud' }],
    { foo: { bar: 'baz' }, qux: { corge: 'grault', thud: 'fred' } },
  ],
  [
    'A.7',
    { foo: ['all', 'grass', 'cows', 'eat'] },
    [{ op: 'move', from: '/foo/1', path: '/foo/3' }],
    { foo: ['all', 'cows', 'eat', 'grass'] },
  ],
  [
    'A.8',
    { baz: 'qux', foo: ['a', 2, 'c'] },
    [
      { op: 'test', path: '/baz', value: 'qux' },
      { op: 'test', path: '/foo/1', value: 2 },
    ],
    { baz: 'qux', foo: ['a', 2, 'c'] },
  ],
  [
    'A.10',
    { foo: 'bar' },
    [{ op: 'add', path: '/child', value: { grandchild: {} } }],
    { foo: 'bar', child: { grandchild: {} } },
  ],
  ['A.11', { foo: 'bar' }, [{ op: 'add', path: '/baz', value: 'qux', xyz: 123 }], { foo: 'bar', baz: 'qux' }],
  ['A.14', { '/': 9, '~1': 10 }, [{ op: 'test', path: '/~01', value: 10 }], { '/': 9, '~1': 10 }],
  ['A.16', { foo: ['bar'] }, [{ op: 'add', path: '/foo/-', value: ['abc'] }], { foo: ['bar', ['abc']] }],
  ['copy', { a: [1] }, [{ op: 'copy', from: '/a', path: '/b' }, { op: 'add', path: '/b/-', value: 2 }], { a: [1], b: [1, 2] }], // oxfmt-ignore
  ['whole', { a: 1 }, [{ op: 'replace', path: '', value: [2] }], [2]],
  ['order', { a: { x: 1, y: 2 } }, [{ op: 'test', path: '/a', value: { y: 2, x: 1 } }], { a: { x: 1, y: 2 } }],
];

/** Patches that do not apply: title, document, patch, and the error. */
const REFUSED: readonly (readonly [string, unknown, unknown, RegExp])[] = [
  ['A.9 test', { baz: 'qux' }, [{ op: 'test', path: '/baz', value: 'bar' }], /test/u],
  ['A.12 no parent', { foo: 'bar' }, [{ op: 'add', path: '/baz/bat', value: 'qux' }], /nowhere/u],
  ['A.15 type', { '/': 9, '~1': 10 }, [{ op: 'test', path: '/~01', value: '10' }], /test/u],
  ['an unknown op', {}, [{ op: 'merge', path: '/a', value: 1 }], /op/u],
  ['an op of the prototype', {}, [{ op: 'constructor', path: '/a', value: 1 }], /op/u],
  ['no path', {}, [{ op: 'remove' }], /no path/u],
  ['no value', {}, [{ op: 'add', path: '/a' }], /no value/u],
  ['no from', {}, [{ op: 'copy', path: '/a' }], /no from/u],
  ['an object', {}, { op: 'remove', path: '/a' }, /not a list/u],
  ['no operation', {}, ['remove'], /not an object/u],
  ['no pointer', {}, [{ op: 'add', path: 'a', value: 1 }], /JSON Pointer/u],
  ['a bad escape', {}, [{ op: 'add', path: '/~2', value: 1 }], /JSON Pointer/u],
  ['a missing member', {}, [{ op: 'replace', path: '/a', value: 1 }], /nowhere/u],
  ['an index too high', { a: [1] }, [{ op: 'add', path: '/a/2', value: 1 }], /nowhere/u],
  ['an index with a zero', { a: [1, 2] }, [{ op: 'remove', path: '/a/01' }], /nowhere/u],
  ['the end of a list', { a: [1] }, [{ op: 'remove', path: '/a/-' }], /nowhere/u],
  ['a member of a string', { a: 'b' }, [{ op: 'add', path: '/a/length', value: 1 }], /nowhere/u],
  ['a member of the prototype', {}, [{ op: 'add', path: '/__proto__/polluted', value: 1 }], /nowhere/u],
  ['a value into itself', { a: { b: 1 } }, [{ op: 'move', from: '/a', path: '/a/b' }], /into itself/u],
  ['too many', {}, Array.from({ length: 1_001 }, () => ({ op: 'add', path: '/a', value: 1 })), /1000/u],
];

describe('a JSON Patch', () => {
  it.each(EXAMPLES)('applies as RFC 6902 writes: %s', (_, document, patch, result) => {
    expect(patched(document, patch)).toEqual(result);
  });

  it.each(REFUSED)('is refused: %s', (_, document, patch, error) => {
    expect(() => patched(document, patch)).toThrow(error);
  });

  it('sets a member that is named like the prototype without changing it', () => {
    const result = patched({}, [{ op: 'add', path: '/__proto__', value: { polluted: true } }]) as object;
    expect(JSON.stringify(result)).toBe('{"__proto__":{"polluted":true}}');
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
    expect('polluted' in {}).toBe(false);
  });

  it('cannot double a document without end', () => {
    const doubling = Array.from({ length: 60 }, (_, index) => ({ op: 'copy', from: '', path: `/${String(index)}` }));
    expect(() => patched({ a: 'x'.repeat(100) }, doubling)).toThrow(/copies too much/u);
  });

  it('keeps the digits of numbers that a double cannot hold', () => {
    const document = parseExactly('{"a":12345678901234567890,"b":1.0,"c":[1e400],"d":0.1}');
    const patch = parseExactly(
      '[{"op":"copy","from":"/c","path":"/e"},{"op":"test","path":"/b","value":1},{"op":"add","path":"/f","value":9007199254740993}]',
    );
    expect(JSON.stringify(applyPatch(document, readPatch(patch)))).toBe(
      '{"a":12345678901234567890,"b":1.0,"c":[1e400],"d":0.1,"e":[1e400],"f":9007199254740993}',
    );
  });

  it('does not open the text of an exact number', () => {
    const patch = readPatch([{ op: 'add', path: '/a/rawJSON', value: 1 }]);
    expect(() => applyPatch(parseExactly('{"a":1.0}'), patch)).toThrow(/nowhere/u);
  });
});
