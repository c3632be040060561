import { describe, expect, it } from 'vitest';
import { brokenByTool } from '../../../contract/model-apis/rules.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { portableSchema } from './portable-schema.ts';

const object = (a: unknown, more: object = {}): JsonObject => ({ type: 'object', properties: { a }, ...more });
const argument = (a: unknown, more: object = {}): unknown =>
  (portableSchema(object(a, more))['properties'] as JsonObject)['a'];
const text = { type: 'string' };

describe('a portable schema', () => {
  it.each<[string, unknown, unknown]>([
    [
      'keeps what all APIs know',
      { type: 'integer', minimum: 1, description: 'd', default: 2 },
      { type: 'integer', minimum: 1, description: 'd', default: 2 },
    ],
    ['drops unknown keywords', { ...text, $comment: 'c', examples: ['e'], contentEncoding: 'base64' }, text],
    ['keeps the mark of a header', { ...text, 'x-mcp-header': 'Region' }, { ...text, 'x-mcp-header': 'Region' }],
    ['inlines a reference', { $ref: '#/$defs/b' }, { type: 'object', properties: { c: text }, required: ['c'] }],
    ['prefers the keywords beside it', { $ref: '#/$defs/t', description: 'mine' }, { ...text, description: 'mine' }],
    ['follows several references', { $ref: '#/$defs/to' }, { ...text, description: 'theirs' }],
    ['reads escaped pointers', { $ref: '#/$defs/a~1b%20c' }, { type: 'boolean' }],
    ['reads a reference to an argument', { $ref: '#/properties/z' }, { type: 'boolean' }],
    [
      'accepts everything for another document',
      { $ref: 'https://example.com/s.json', description: 'd' },
      { description: 'd' },
    ],
    ['gives arrays items', { type: 'array' }, { type: 'array', items: text }],
    ['keeps items', { type: 'array', items: { type: 'integer' } }, { type: 'array', items: { type: 'integer' } }],
    [
      'takes the first item of a tuple',
      { type: 'array', prefixItems: [{ type: 'number' }, text] },
      { type: 'array', items: { type: 'number' } },
    ],
    [
      'takes that of an older tuple',
      { type: 'array', items: [{ type: 'number' }] },
      { type: 'array', items: { type: 'number' } },
    ],
    ['narrows a list of types', { type: ['null', 'integer', 'string'] }, { type: 'integer', nullable: true }],
    ['gives items to a narrowed array', { type: ['array', 'null'] }, { type: 'array', items: text, nullable: true }],
    ['turns a constant into an enum', { const: 'x' }, { type: 'string', enum: ['x'] }],
    [
      'leaves null out of an enum',
      { type: ['string', 'null'], enum: ['x', null] },
      { type: 'string', enum: ['x'], nullable: true },
    ],
    [
      'turns exclusive limits into others',
      { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 5 },
      { type: 'integer', minimum: 1, maximum: 4 },
    ],
    ['makes optional values nullable', { anyOf: [text, { type: 'null' }], default: null }, { ...text, nullable: true }],
    ['keeps alternatives', { oneOf: [text, { type: 'array' }] }, { anyOf: [text, { type: 'array', items: text }] }],
    [
      'drops alternatives that describe no value',
      { ...object(text), anyOf: [{ required: ['a'] }, { required: [] }] },
      object(text),
    ],
    ['drops alternatives of which one is any value', { anyOf: [text, {}], title: 't' }, { title: 't' }],
    [
      'merges allOf',
      { allOf: [{ $ref: '#/$defs/b' }, object(text)], description: 'd' },
      { type: 'object', description: 'd', properties: { a: text, c: text }, required: ['c'] },
    ],
    [
      'requires only arguments that exist',
      { ...object(text), required: ['a', 'gone'] },
      { ...object(text), required: ['a'] },
    ],
    ['takes a boolean schema for any value', true, {}],
  ])('%s', (_what, given, expected) => {
    const $defs = {
      b: { type: 'object', properties: { c: text }, required: ['c'], additionalProperties: false },
      t: { type: 'string', description: 'theirs' },
      to: { $ref: '#/$defs/t' },
      'a/b c': { type: 'boolean' },
    };
    const whole = { type: 'object', properties: { a: given, z: { type: 'boolean' } }, $defs };
    const schema = portableSchema(whole);
    expect((schema['properties'] as JsonObject)['a']).toEqual(expected);
    expect(schema).not.toHaveProperty('$defs');
    expect(brokenByTool({ inputSchema: schema })).toEqual([]);
  });

  it('ends where a schema contains itself', () => {
    const node = {
      type: 'object',
      properties: { next: { $ref: '#/$defs/node' }, all: { type: 'array', items: { $ref: '#' } } },
    };
    const schema = portableSchema({ ...object({ $ref: '#/$defs/node' }), $defs: { node } });
    expect(brokenByTool({ inputSchema: schema })).toEqual([]);
    expect((schema['properties'] as JsonObject)['a']).toMatchObject({ properties: { next: { type: 'object' } } });
  });

  it('joins the alternatives at the top, none of which is required', () => {
    const schema = portableSchema({
      ...object(text, { required: ['a'] }),
      anyOf: [{ properties: { b: { type: 'integer' } }, required: ['b'] }, { required: ['a'] }],
    });
    expect(schema).toEqual({ type: 'object', properties: { a: text, b: { type: 'integer' } }, required: ['a'] });
    expect(portableSchema({ oneOf: [{ $ref: '#/$defs/one' }], $defs: { one: object(text) } })).toEqual(object(text));
  });

  it('keeps the names of arguments that JavaScript gives a meaning', () => {
    const schema = portableSchema(
      JSON.parse('{"properties":{"__proto__":{"type":"string"},"$ref":{"type":"array"}}}') as JsonObject,
    );
    expect(JSON.stringify(schema)).toContain('"__proto__":{"type":"string"}');
    expect(JSON.stringify(schema)).toContain('"$ref":{"type":"array","items":{"type":"string"}}');
  });

  it('is bounded for references that double with each level, and for deep schemas', () => {
    const levels = Array.from({ length: 30 }, (_, index) => [
      `l${String(index)}`,
      {
        type: 'object',
        description: 'd'.repeat(1000),
        properties: { x: { $ref: `#/$defs/l${String(index + 1)}` }, y: { $ref: `#/$defs/l${String(index + 1)}` } },
      },
    ]);
    const $defs = Object.fromEntries(levels) as JsonObject;
    expect(JSON.stringify(argument({ $ref: '#/$defs/l0' }, { $defs })).length).toBeLessThan(2 * 1024 * 1024);
    const long = { ...text, description: 'd'.repeat(100_000) };
    const many = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, index) => [`p${String(index)}`, { $ref: '#/$defs/long' }]),
    );
    const wide = portableSchema({ type: 'object', properties: many, $defs: { long } });
    expect(JSON.stringify(wide).length).toBeLessThan(2 * 1024 * 1024);
    const all = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => {
        const next = { $ref: `#/$defs/a${String(index + 1)}` };
        return [`a${String(index)}`, { allOf: [next, next, { description: 'd' }] }];
      }),
    ) as JsonObject;
    expect(argument({ $ref: '#/$defs/a0' }, { $defs: all })).toEqual({});
    let deep: JsonObject = text;
    for (let level = 0; level < 3_000; level += 1) deep = { allOf: [{ type: 'array', items: deep }] };
    expect(JSON.stringify(argument(deep)).length).toBeLessThan(10_000);
  });
});
