import { describe, expect, it } from 'vitest';
import { membersAt, metaMembers, mirroredHeaders, openOfMeta, withMeta } from './request-text.ts';

const members = metaMembers({ capabilities: '{"roots":{}}', client: { name: 'c', version: '1' }, logLevel: 1 });
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { roots: {} },
  'io.modelcontextprotocol/logLevel': 'info',
};

describe('the params of a request', () => {
  it.each([
    ['none', undefined, { _meta: META }],
    ['empty', '{}', { _meta: META }],
    ['without _meta', '{"name":"a"}', { name: 'a', _meta: META }],
    ['with an empty _meta', '{"_meta":{},"name":"a"}', { name: 'a', _meta: META }],
    ['with a token', ' { "_meta" : { "progressToken": 1 } }', { _meta: { ...META, progressToken: 1 } }],
    ['with a wrong _meta', '{"_meta":null}', { _meta: META }],
  ])('%s', (_, text, expected) => {
    const params = text === undefined ? undefined : Buffer.from(text);
    expect(JSON.parse(withMeta(params, members).toString())).toEqual(expected);
  });
});

describe('the place for members of _meta', () => {
  it.each([
    ['{"_meta":{},"name":"a"}', 10],
    ['{"_meta":{}}', 10],
    ['{"_meta":{"progressToken":1},"name":"a"}', 10],
    ['{"name":"a","_meta":{}}', 21],
    ['{"name":"a","_meta":{"progressToken":1}}', undefined],
    ['{"name":"a","arguments":{"_meta":{}}}', undefined],
    ['{"name":"a","arguments":{"x":1,"_meta":{}}}', undefined],
    ['{"name":"a","x\\"_meta":{}}', undefined],
    ['{"name":"a","x,\\"_meta":{}}', undefined],
    ['{"name":"a","_meta":null}', undefined],
    ['{}', undefined],
  ])('in %s is %s', (text, expected) => {
    const params = Buffer.from(text);
    const at = openOfMeta(params);
    expect(at).toBe(expected);
    if (at === undefined) return;
    const described = text.slice(0, at) + membersAt(params, at, members).toString() + text.slice(at);
    expect(JSON.parse(described)).toEqual(JSON.parse(withMeta(params, members).toString()));
  });
});

const tool = Buffer.from(
  JSON.stringify({
    name: 't',
    inputSchema: {
      type: 'object',
      properties: {
        region: { type: 'string', 'x-mcp-header': 'Region' },
        count: { type: 'integer', 'x-mcp-header': 'Count' },
        dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
        query: { type: 'string' },
      },
    },
  }),
);

describe('the headers of a call', () => {
  it.each([
    ['plain', { region: 'eu west' }, ['mcp-param-region', 'eu west']],
    ['numbers and booleans', { count: 42, dry: false }, ['mcp-param-count', '42', 'mcp-param-dry', 'false']],
    ['an empty text', { region: '' }, ['mcp-param-region', '']],
    ['other characters', { region: 'é' }, ['mcp-param-region', '=?base64?w6k=?=']],
    ['a line break', { region: 'a\r\nb' }, ['mcp-param-region', '=?base64?YQ0KYg==?=']],
    ['space at the end', { region: 'a ' }, ['mcp-param-region', '=?base64?YSA=?=']],
    ['what looks encoded', { region: '=?base64?eA==?=' }, ['mcp-param-region', '=?base64?PT9iYXNlNjQ/ZUE9PT89?=']],
    ['null and others', { region: null, query: 'q' }, []],
  ])('%s', (_, args, expected) => {
    const params = Buffer.from(JSON.stringify({ name: 't', arguments: args }));
    const request = { method: 'tools/call', params, id: Buffer.from('1'), timeoutMs: 1, item: tool };
    expect(mirroredHeaders(request).slice(6)).toEqual(expected);
    expect(mirroredHeaders(request).slice(0, 6)).toEqual([
      'mcp-protocol-version',
      '2026-07-28',
      'mcp-method',
      'tools/call',
      'mcp-name',
      't',
    ]);
  });
});
