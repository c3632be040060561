import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { Closed, Duration, QUANTITY_PATTERN } from '../../../gateway/contract/fields.ts';
import { freeObject, freeValue, mapBy, quantity } from '../../../gateway/contract/optional.ts';
import { rule } from '../../../gateway/contract/rule.ts';
import { structural } from './structural.ts';

describe('structural', () => {
  it('converts maps, enums, lists and free-form members', () => {
    const schema = Closed({
      map: Type.Record(Type.String(), Closed({ a: Type.Integer({ description: 'A.' }) }), { maxProperties: 2 }),
      choice: Type.Optional(Type.Enum(['a', 'b'], { default: 'a' })),
      list: Type.Array(Duration('D.'), { ...mapBy('x') }),
      object: freeObject('O.'),
      value: freeValue('V.'),
      quantity: quantity('Q.'),
    });
    expect(structural(schema)).toEqual({
      type: 'object',
      required: ['map', 'list'],
      properties: {
        map: {
          type: 'object',
          maxProperties: 2,
          additionalProperties: {
            type: 'object',
            required: ['a'],
            properties: { a: { type: 'integer', description: 'A.' } },
          },
        },
        choice: { type: 'string', enum: ['a', 'b'], default: 'a' },
        list: {
          type: 'array',
          items: { type: 'string', pattern: '^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$', description: 'D.' },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['x'],
        },
        object: { type: 'object', description: 'O.', 'x-kubernetes-preserve-unknown-fields': true },
        value: { description: 'V.', 'x-kubernetes-preserve-unknown-fields': true },
        quantity: {
          anyOf: [{ type: 'integer' }, { type: 'string' }],
          pattern: QUANTITY_PATTERN,
          maxLength: 32,
          minimum: 0,
          description: 'Q.',
          'x-kubernetes-int-or-string': true,
        },
      },
    });
  });

  it('adds a rule at its path, with the path of its field', () => {
    const schema = Closed({ a: Type.Array(Type.Record(Type.String(), Closed({ b: Type.String() }))) });
    const each = rule<object>('a[]{}', { rule: 'true', message: 'm', field: 'b', check: () => true });
    const root = rule<object>('', { rule: 'true', message: 'r', field: 'metadata.name', check: () => true });
    const out = structural(schema, [each, root]);
    expect(out['x-kubernetes-validations']).toEqual([{ rule: 'true', message: 'r' }]);
    expect(out.properties?.['a']?.items?.additionalProperties?.['x-kubernetes-validations']).toEqual([
      { rule: 'true', message: 'm', fieldPath: '.b' },
    ]);
  });

  it.each([
    ['anyOf', Type.Union([Type.String(), Type.Integer()])],
    ['const', Type.Literal('a')],
    ['$ref', Type.Ref('a')],
    ['not', Type.Unsafe({ type: 'object', not: {} })],
    ['oneOf', Type.Unsafe({ oneOf: [] })],
    ['minContains', Type.Unsafe({ type: 'array', minContains: 1 })],
  ])('refuses %s and says where', (keyword, member) => {
    expect(() => structural(Closed({ list: Type.Array(Closed({ member })) }))).toThrow(`list[].member`);
    expect(() => structural(Closed({ list: Type.Array(Closed({ member })) }))).toThrow(keyword);
  });

  it('rejects a member without a type', () => {
    expect(() => structural(Closed({ a: Type.Unknown() }))).toThrow('a: a structural schema needs a type');
  });

  it('rejects a rule whose path does not exist', () => {
    const lost = rule<object>('b', { rule: 'true', message: 'm', check: () => true });
    expect(() => structural(Closed({ a: Type.String() }), [lost])).toThrow('b: no such path for the rule "m"');
  });
});
