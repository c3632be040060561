import { describe, expect, it } from 'vitest';
import { checkText, checkTools } from './tools.ts';

const tool = (inputSchema: object, more: object = {}) => ({ name: 'find', inputSchema, ...more });
const withArgument = (schema: object) => tool({ type: 'object', properties: { a: schema } });

/** Returns the ids of the rules that a tool breaks. */
const idsOf = (one: ReturnType<typeof tool>): string[] =>
  checkTools([one]).families.flatMap(({ findings }) => findings.map(({ id }) => id));

describe('the rules of model APIs', () => {
  it.each<[string, ReturnType<typeof tool>, string[]]>([
    ['an ordinary tool of zod', withArgument({ type: 'string', $schema: 'x', additionalProperties: false }), []],
    ['a name of 64 characters', tool({ type: 'object' }, { name: 'a'.repeat(64) }), []],
    ['a name of 65', tool({ type: 'object' }, { name: 'a'.repeat(65) }), ['openai-name-length', 'gemini-name-length']],
    [
      'a name of 129',
      tool({ type: 'object' }, { name: 'a'.repeat(129) }),
      ['openai-name-length', 'anthropic-name-length', 'gemini-name-length'],
    ],
    ['a dot in a name', tool({ type: 'object' }, { name: 'a.b' }), ['openai-name', 'anthropic-name']],
    ['a slash in a name', tool({ type: 'object' }, { name: 'a/b' }), ['openai-name', 'anthropic-name', 'gemini-name']],
    ['a digit first', tool({ type: 'object' }, { name: '1b' }), ['gemini-name']],
    ['a description of 1,024', tool({ type: 'object' }, { description: 'a'.repeat(1024) }), []],
    ['a description of 1,025', tool({ type: 'object' }, { description: 'a'.repeat(1025) }), ['openai-description']],
    ['$ref', withArgument({ $ref: '#/$defs/b' }), ['anthropic-ref', 'gemini-ref']],
    ['an argument named $ref', tool({ type: 'object', properties: { const: { type: 'string' } } }), []],
    ['an array without items', withArgument({ type: 'array' }), ['openai-items', 'gemini-items']],
    [
      'one in a list of types',
      withArgument({ type: ['array', 'null'] }),
      ['openai-items', 'gemini-items', 'gemini-type'],
    ],
    [
      'a deep one',
      withArgument({ anyOf: [{ type: 'array', items: { type: 'array' } }] }),
      ['openai-items', 'gemini-items'],
    ],
    ['a tuple', withArgument({ type: 'array', prefixItems: [{ type: 'string' }] }), ['openai-items', 'gemini-items']],
    ['a list of types', withArgument({ type: ['string', 'null'] }), ['gemini-type']],
    ['a constant', withArgument({ const: 'a' }), ['gemini-keyword']],
    ['alternatives at the top', tool({ type: 'object', anyOf: [{}] }), ['openai-root', 'anthropic-root']],
    ['no object at the top', tool({ oneOf: [{}] }), ['openai-root', 'anthropic-root']],
    ['an enum at the top', tool({ type: 'object', enum: [] }), ['openai-root']],
    ['a space in an argument', tool({ type: 'object', properties: { 'a b': {} } }), ['anthropic-property']],
  ])('decide on %s', (_what, one, ids) => {
    expect(idsOf(one)).toEqual(ids);
  });

  it('limit the number of tools', () => {
    const many = (length: number) =>
      checkTools(Array.from({ length }, (_, index) => tool({ type: 'object' }, { name: `t${String(index)}` })));
    expect(many(128).rejected).toBe(0);
    expect(checkText(many(129))).toBe(
      'OpenAI: rejected\n  129 tools, more than 128: hide tools with a filter\nAnthropic: ok (129 tools)\nGemini: ok (129 tools)\n',
    );
    expect(many(513).rejected).toBe(2);
  });
});

it('prints the first names of a finding, and JSON has all with their source and date', () => {
  const tools = Array.from({ length: 7 }, (_, index) => tool({ type: 'object' }, { name: `a.${String(index)}` }));
  expect(checkText(checkTools(tools)).split('\n')[1]).toBe(
    '  7 tools with other characters than letters, digits, _ and - in the name (a.0, a.1, a.2, a.3, a.4 and 2 more): rename them with overrides',
  );
  const [openai] = checkTools(tools).families;
  expect(openai?.findings[0]).toMatchObject({ tools: tools.map(({ name }) => name), date: '2026-11-28' });
  expect(openai?.findings[0]?.source).toMatch(/^https:/u);
});
