import { describe, expect, it } from 'vitest';
import { addArguments, parseJsonArguments } from './call.ts';

const schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    text: { type: 'string' },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    deep: { type: 'boolean' },
    tags: { type: 'array' },
    filter: { type: 'object' },
    limit: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    mixed: { type: ['number', 'string'] },
    free: {},
  },
};
const add = (...texts: string[]) => addArguments({}, texts, schema);

describe('--arg', () => {
  it.each([
    ['text=5', { text: '5' }],
    ['text=a=b', { text: 'a=b' }],
    ['text=', { text: '' }],
    ['count=5', { count: 5 }],
    ['count=-1', { count: -1 }],
    ['ratio=0.5', { ratio: 0.5 }],
    ['deep=true', { deep: true }],
    ['tags=["a","b"]', { tags: ['a', 'b'] }],
    ['filter={"a":1}', { filter: { a: 1 } }],
    ['limit=null', { limit: null }],
    ['limit=3', { limit: 3 }],
    ['mixed=3', { mixed: 3 }],
    ['mixed=three', { mixed: 'three' }],
    ['free=3', { free: '3' }],
  ])('converts %s', (text, args) => {
    expect(add(text)).toEqual({ args });
  });

  it.each([
    ['count=x', '--arg count: the value must be an integer'],
    ['count=1.5', '--arg count: the value must be an integer'],
    ['ratio=', '--arg ratio: the value must be a number'],
    ['deep=yes', '--arg deep: the value must be true or false'],
    ['tags=a', '--arg tags: the value must be a list in JSON, such as ["a"]'],
    ['filter=[]', '--arg filter: the value must be an object in JSON, such as {"a": 1}'],
    ['limit=x', '--arg limit: the value must be an integer, or null'],
    ['text', '--arg text: write NAME=VALUE'],
    ['=x', '--arg =x: write NAME=VALUE'],
    ['txt=x', '--arg txt: the tool has no such argument: did you mean text?'],
  ])('rejects %s', (text, problem) => {
    expect(add(text)).toEqual({ problem });
  });

  it('names the arguments that the tool requires and that are missing', () => {
    const inputSchema = { ...schema, required: ['text', 'count', 'deep'] };
    const problem = 'the tool requires text, deep: add --arg text=VALUE --arg deep=VALUE';
    expect(addArguments({}, ['count=1'], inputSchema)).toEqual({ problem });
    expect(addArguments({ text: '' }, ['count=1', 'deep=false'], inputSchema)).toHaveProperty('args');
  });

  it('overrides the same name in --json, and the last one counts', () => {
    expect(addArguments({ count: 1, text: 'kept' }, ['count=2', 'count=3'], schema)).toEqual({
      args: { count: 3, text: 'kept' },
    });
  });

  it.each([undefined, null, {}, { properties: { other: {} } }])('is text without a type, as with %j', (inputSchema) => {
    expect(addArguments({}, ['a=1'], inputSchema)).toEqual({ args: { a: '1' } });
  });
});

describe('--json', () => {
  it('is an object', () => {
    expect(parseJsonArguments('{"a": [1]}')).toEqual({ args: { a: [1] } });
  });

  it.each(['', '{', '[]', 'null', '"text"'])('rejects %j', (text) => {
    expect(parseJsonArguments(text)).toHaveProperty('problem');
  });
});
