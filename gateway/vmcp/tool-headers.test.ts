import { describe, expect, it } from 'vitest';
import { hasValidHeaders, wrongParamHeader } from './tool-headers.ts';

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
    ['a nested one', { a: { type: 'object', properties: named('Region') } }, false],
    ['one of a list', { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'Region' } } }, false],
    ['none', { a: { type: 'string' } }, true],
  ])('of %s', (_, properties, isValid) => {
    expect(hasValidHeaders(tool(properties))).toBe(isValid);
  });

  it('below another keyword is invalid', () => {
    expect(hasValidHeaders(tool({}, { allOf: [{ properties: named('Region') }] }))).toBe(false);
  });
});

describe('the headers of a call', () => {
  const region = tool(named('Region'));
  it.each([
    ['equal', 'eu', { 'mcp-param-region': 'eu' }, undefined],
    ['encoded', 'é', { 'mcp-param-region': '=?base64?w6k=?=' }, undefined],
    ['missing', 'eu', {}, 'mcp-param-region'],
    ['different', 'eu', { 'mcp-param-region': 'us' }, 'mcp-param-region'],
    ['of broken Base64', 'é', { 'mcp-param-region': '=?base64?w6k?=' }, 'mcp-param-region'],
    ['of half a mark', '=?base64?w6k=', { 'mcp-param-region': '=?base64?w6k=' }, undefined],
    ['of no argument', null, { 'mcp-param-region': 'eu' }, undefined],
  ])('%s', (_, a, headers, expected) => {
    const args = Buffer.from(JSON.stringify({ a }));
    expect(wrongParamHeader(region, args, { start: 0, end: args.length }, headers)).toBe(expected);
  });
});
