import { describe, expect, it } from 'vitest';
import { hasValidHeaders, paramHeaders, wrongParamHeader } from './tool-headers.ts';

const tool = (properties: object, more: object = {}): Buffer =>
  Buffer.from(JSON.stringify({ name: 't', inputSchema: { type: 'object', properties, ...more } }));
const named = (name: unknown, type: unknown = 'string'): object => ({ a: { type, 'x-mcp-header': name } });

describe('a declaration of headers', () => {
  it.each([
    ['a text', named('Region'), true],
    ['an integer', named('Region', 'integer'), true],
    ['a boolean', named('Region', 'boolean'), true],
    ['a number', named('Region', 'number'), false],
    ['an object', named('Region', 'object'), false],
    ['an array', named('Region', 'array'), false],
    ['null', named('Region', 'null'), false],
    ['no name', named(''), false],
    ['a name with space', named('My Region'), false],
    ['a name with a colon', named('Region:'), false],
    ['a name with a line break', named('Reg\r\nion'), false],
    ['a name outside of ASCII', named('Région'), false],
    ['no text as name', named(1), false],
    ['a name twice', { ...named('Region'), b: { type: 'string', 'x-mcp-header': 'REGION' } }, false],
    ['a property of an object', { a: { type: 'object', properties: named('Region') } }, true],
    ['a name twice, once in an object', { ...named('Region'), b: { properties: named('region') } }, false],
    ['an object with properties', { a: { type: 'object', properties: {}, 'x-mcp-header': 'Region' } }, false],
    ['a property of the items of a list', { a: { items: { properties: named('Region') } } }, false],
    ['an argument with the name of the keyword', { 'x-mcp-header': { type: 'string' } }, true],
    ['one of a list', { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'Region' } } }, false],
    ['none', { a: { type: 'string' } }, true],
  ])('of %s', (_, properties, isValid) => {
    expect(hasValidHeaders(tool(properties))).toBe(isValid);
  });

  it.each(['allOf', 'oneOf', 'anyOf', 'not', 'if', '$defs', 'additionalProperties', 'patternProperties'])(
    'below %s is invalid',
    (keyword) => {
      expect(hasValidHeaders(tool({}, { [keyword]: [{ properties: named('Region') }] }))).toBe(false);
      expect(hasValidHeaders(tool({ a: { [keyword]: { properties: named('Region') } } }))).toBe(false);
    },
  );

  it('of the whole schema is invalid', () => {
    expect(hasValidHeaders(tool({}, { type: 'string', 'x-mcp-header': 'Region' }))).toBe(false);
  });
});

describe('the headers of a call', () => {
  const region = { 'mcp-param-region': 'eu' };
  it.each<[string, unknown, Record<string, string>, boolean]>([
    ['equal', { a: 'eu' }, region, true],
    ['encoded', { a: 'é' }, { 'mcp-param-region': '=?base64?w6k=?=' }, true],
    ['missing', { a: 'eu' }, {}, false],
    ['different', { a: 'us' }, region, false],
    ['of broken Base64', { a: 'é' }, { 'mcp-param-region': '=?base64?w6k?=' }, false],
    ['with a character that no header carries', { a: 'é' }, { 'mcp-param-region': 'é' }, false],
    ['of half a mark', { a: '=?base64?w6k=' }, { 'mcp-param-region': '=?base64?w6k=' }, true],
    ['of null', { a: null }, region, false],
    ['of no argument', {}, region, false],
    ['absent like the argument', {}, {}, true],
    ['of an object', { a: {} }, region, false],
    ['of an inherited member', { b: {} }, { 'mcp-param-depth': 'x' }, false],
    ['of a property', { b: { deep: 7 } }, { 'mcp-param-depth': '7' }, true],
    ['of a property, missing', { b: { deep: 7 } }, {}, false],
    ['of a property, different', { b: { deep: 7 } }, { 'mcp-param-depth': '8' }, false],
    ['of a property of a text', { b: 'deep' }, { 'mcp-param-depth': '7' }, false],
    ['equal as a number', { b: { deep: 42 } }, { 'mcp-param-depth': '42.0' }, true],
    ['another number', { b: { deep: 42 } }, { 'mcp-param-depth': '42.5' }, false],
    ['a number in another form', { b: { deep: 42 } }, { 'mcp-param-depth': '0x2a' }, false],
  ])('%s', (_, values, headers, isRight) => {
    const properties = {
      ...named('Region'),
      b: { type: 'object', properties: { deep: { type: 'integer', 'x-mcp-header': 'Depth' } } },
    };
    const args = Buffer.from(JSON.stringify(values));
    const wrong = wrongParamHeader(tool(properties), args, { start: 0, end: args.length }, headers, true);
    expect(wrong === undefined).toBe(isRight);
  });

  it.each<[string, object | undefined, Record<string, string>, string | undefined]>([
    ['may be absent', { a: 'eu' }, {}, undefined],
    ['must equal the argument', { a: 'us' }, region, 'mcp-param-region'],
    ['must be absent without arguments', undefined, region, 'mcp-param-region'],
  ])('of a session %s', (_, values, headers, expected) => {
    const args = Buffer.from(values ? JSON.stringify(values) : '');
    const span = values && { start: 0, end: args.length };
    expect(wrongParamHeader(tool(named('Region')), args, span, headers, false)).toBe(expected);
  });

  it.each([
    ['the last of equal arguments', '{"a":"us","a":"eu"}', undefined],
    ['the last of equal arguments, different', '{"a":"eu","\\u0061":"us"}', 'mcp-param-region'],
    ['the last of equal objects', '{"b":{"a":"eu"},"a":"eu","b":1}', undefined],
    ['an argument whose name has escapes', '{"\\u0061":"eu"}', undefined],
    ['a list', '["a","eu"]', 'mcp-param-region'],
  ])('are compared with %s', (_, text, expected) => {
    const args = Buffer.from(text);
    const region = { 'mcp-param-region': 'eu' };
    expect(wrongParamHeader(tool(named('Region')), args, { start: 0, end: args.length }, region, true)).toBe(expected);
  });

  it('row 84: take no time for 900,000 other arguments', () => {
    const others = Array.from({ length: 900_000 }, (_, index) => `"${index.toString(36)}":1`).join(',');
    const params = Buffer.from(`{"arguments":{${others},"region":"eu"}}`);
    const declared = tool({ region: { type: 'string', 'x-mcp-header': 'Region' } });
    paramHeaders(declared, Buffer.from('{}'));
    const before = process.cpuUsage();
    expect(paramHeaders(declared, params)).toEqual(['mcp-param-region', 'eu']);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(300);
  });
});
