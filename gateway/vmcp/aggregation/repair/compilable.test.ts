import { Ajv } from 'ajv';
import { expect, it } from 'vitest';
import { isCompilable } from './compilable.ts';

const object = (property: unknown, more: object = {}): string =>
  JSON.stringify({ type: 'object', properties: { a: property }, ...more });

/** Compiles like the client of the TypeScript SDK. */
function compiles(text: string): boolean {
  const ajv = new Ajv({ strict: false, validateFormats: true, validateSchema: false, allErrors: true, logger: false });
  try {
    ajv.compile(JSON.parse(text) as object);
    return true;
  } catch {
    return false;
  }
}

it.each([
  ['an empty one', '{}'],
  ['usual keywords', object({ type: ['string', 'null'], format: 'date-time', pattern: '^[\\w-]+$', minLength: 1 })],
  ['an own path', object({ $ref: '#/$defs/b~1c' }, { $defs: { 'b/c': { items: { $ref: '#' } } } })],
  ['a name', object({}, { $id: 'https://example.com/a', $schema: 'https://json-schema.org/draft/2020-12/schema' })],
  ['newer keywords', object({ prefixItems: [{}], unevaluatedItems: false, dependentRequired: { a: ['b'] } })],
  ['nullable with a type', object({ type: 'string', nullable: true })],
])('accepts a schema with %s', (_, text) => {
  expect([isCompilable(text), compiles(text)]).toEqual([true, true]);
});

it.each([
  ['a pattern of Python', object({ pattern: '(?P<x>a)' })],
  ['a pattern among the keys', object({ patternProperties: { '(': { type: 'string' } } })],
  ['a path that leads nowhere', object({ $ref: '#/$defs/none' })],
  ['another document', object({ $ref: 'https://example.com/other' })],
  ['an unknown type', object({ type: 'any' })],
  ['null keywords', object({ enum: null })],
  ['an empty enumeration', object({ enum: [] })],
  ['a number as text', object({ minimum: '5' })],
  ['a limit of draft 4', object({ type: 'number', minimum: 1, exclusiveMinimum: true })],
  ['required of draft 3', object({ required: true })],
  ['a name of draft 4', object({ id: 'a' })],
  ['nullable without a type', object({ nullable: true })],
  ['a wrong definition that is used', object({ $ref: '#/definitions/b' }, { definitions: { b: { type: 'any' } } })],
])('rejects a schema with %s, which does not compile', (_, text) => {
  expect([isCompilable(text), compiles(text)]).toEqual([false, false]);
});
