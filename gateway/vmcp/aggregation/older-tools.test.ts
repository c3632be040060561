import { expect, it } from 'vitest';
import { olderTools } from './older-tools.ts';

const page = (...tools: string[]): Buffer => Buffer.from(`{"tools":[${tools.join(',')}],"nextCursor":"c"}`);
const OBJECT = '{"name":"a","outputSchema":{"type":"object","n":1.0}}';
const PLAIN = '{"name":"b"}';

it.each([
  ['of an array', '{"name":"c","outputSchema":{"type":"array"},"n":1.0}', '{"name":"c","n":1.0}'],
  ['without a type', '{"outputSchema":{"anyOf":[{}]},"name":"c"}', '{"name":"c"}'],
  ['of several types', '{"name":"c","outputSchema":{"type":["object","null"]}}', '{"name":"c"}'],
])('leaves out an output schema %s, and keeps all other bytes', (_, tool, expected) => {
  expect(olderTools(page(OBJECT, tool, PLAIN)).toString()).toBe(page(OBJECT, expected, PLAIN).toString());
});

it('returns the same page without such a schema, and prepares a page once', () => {
  const usual = page(OBJECT, PLAIN, '{"name":"c","outputSchema":null}');
  expect(olderTools(usual)).toBe(usual);
  const other = page('{"name":"c","outputSchema":{"type":"array"}}');
  expect(olderTools(other)).toBe(olderTools(other));
});
