import { describe, expect, it } from 'vitest';
import { NOT_CACHED } from '../../aggregation/cache-hint.ts';
import { Stamp } from './stamp.ts';

const SERVER = { name: 'vmcp', version: '1' };
const stamp = new Stamp(JSON.stringify(SERVER));
const id = Buffer.from('7');
const KEY = 'io.modelcontextprotocol/serverInfo';

const textOf = (reply: Buffer | string): string =>
  (typeof reply === 'string' ? Buffer.from(reply, 'latin1') : reply).toString();

const replied = (text: string, method = 'tools/call'): unknown =>
  JSON.parse(textOf(stamp.reply(Buffer.from(text), id, method)));

describe('a reply of an older backend', () => {
  it.each([
    ['first', '{"result":{"content":[]},"jsonrpc":"2.0","id":7}'],
    ['last', '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}'],
    ['with space', '{ "jsonrpc": "2.0", "id": 7, "result": { "content": [] } }'],
  ])('is complete, result %s', (_, text) => {
    const result = { resultType: 'complete', _meta: { [KEY]: SERVER }, content: [] };
    expect(replied(text)).toEqual({ jsonrpc: '2.0', id: 7, result });
  });

  it('keeps its _meta', () => {
    expect(replied('{"jsonrpc":"2.0","id":7,"result":{"_meta":{"a":1},"x":2}}')).toMatchObject({
      result: { resultType: 'complete', _meta: { a: 1, [KEY]: SERVER }, x: 2 },
    });
  });

  it.each([4_000, 5_000])('keeps every character of a reply of %i bytes', (length) => {
    const content = [{ type: 'text', text: 'é✓\u{1F600}'.padEnd(length - 60, '-') }];
    expect(replied(JSON.stringify({ jsonrpc: '2.0', id: 7, result: { content } }))).toMatchObject({
      result: { resultType: 'complete', content },
    });
  });

  it('may be empty', () => {
    expect(replied('{"jsonrpc":"2.0","id":7,"result":{}}')).toMatchObject({ result: { resultType: 'complete' } });
  });

  it('is not cached when it is a resource', () => {
    expect(replied('{"jsonrpc":"2.0","id":7,"result":{"contents":[]}}', 'resources/read')).toMatchObject({
      result: { ttlMs: 0, cacheScope: 'private' },
    });
  });

  it('says "resource not found" in the code of the revision', () => {
    const error = { code: -32002, message: 'no', data: { uri: 'a:b' } };
    expect(replied(JSON.stringify({ jsonrpc: '2.0', id: 7, error }), 'resources/read')).toMatchObject({
      error: { ...error, code: -32602 },
    });
  });

  it('is not mistaken for a result when it is an error that quotes one', () => {
    const error = { code: -32603, message: 'no', data: { result: { a: 1 } } };
    const message = { jsonrpc: '2.0', id: 7, error };
    expect(replied(JSON.stringify(message))).toEqual(message);
  });
});

it.each([10, 5_000])('keeps every character of the server in a reply of %i bytes', (length) => {
  const named = new Stamp(JSON.stringify({ name: 'é✓', version: '1' }));
  const text = JSON.stringify({ jsonrpc: '2.0', id: 7, result: { x: 'x'.repeat(length) } });
  expect(textOf(named.reply(Buffer.from(text), id, 'tools/call'))).toContain('"name":"é✓"');
});

describe('the reply of a backend of the revision', () => {
  const info = { [KEY]: { name: 'backend', version: '}' } };
  const own = { [KEY]: SERVER };

  it.each([
    ['as the TypeScript SDK writes it', { content: [], resultType: 'complete', _meta: info }, { _meta: own }],
    [
      'as the Python SDK writes it',
      { resultType: 'complete', structuredContent: { a: [1] }, _meta: info },
      { _meta: own },
    ],
    ['with another order', { _meta: info, resultType: 'complete', content: [] }, { _meta: own }],
    ['with more in _meta', { resultType: 'complete', _meta: { a: 1, ...info } }, { _meta: { a: 1, ...own } }],
    ['with more behind the name', { resultType: 'complete', _meta: { ...info, a: 1 } }, { _meta: { ...own, a: 1 } }],
    ['without a name', { content: [], resultType: 'complete' }, { _meta: own }],
    ['that asks for input', { resultType: 'input_required', requestState: 's', _meta: info }, { _meta: own }],
    ['with a name in its content', { content: [{ _meta: info }], resultType: 'complete' }, { _meta: own }],
    ['with a name behind its type', { resultType: 'complete', content: { _meta: info } }, { _meta: own }],
    [
      'with its type elsewhere',
      { content: { resultType: 'complete' }, _meta: info },
      { resultType: 'complete', _meta: own },
    ],
    [
      'with a key that ends like its type',
      { 'x"resultType': 'complete', _meta: info },
      { resultType: 'complete', _meta: own },
    ],
    ['with two types', { x: { resultType: 'complete' }, resultType: 'complete', _meta: info }, { _meta: own }],
  ])('%s names the gateway', (_, result, changed) => {
    const expected = { jsonrpc: '2.0', id: 7, result: { ...result, ...changed } };
    expect(replied(JSON.stringify({ jsonrpc: '2.0', id: 7, result }))).toEqual(expected);
    expect(replied(JSON.stringify({ result, jsonrpc: '2.0', id: 7 }))).toEqual(expected);
    expect(replied(JSON.stringify({ jsonrpc: '2.0', id: 7, result }, undefined, 1))).toEqual(expected);
    const long = { ...result, x: 'x'.repeat(5_000) };
    expect(replied(JSON.stringify({ jsonrpc: '2.0', id: 7, result: long }))).toMatchObject({ result: changed });
  });

  it('keeps every other byte', () => {
    const reply = (name: string): string =>
      `{"jsonrpc":"2.0","id":7,"result":{"n":1.0e2,"s":"é","resultType":"complete","_meta":{"${KEY}":${name}}}}`;
    expect(textOf(stamp.reply(Buffer.from(reply('{ "name":"é" }')), id, 'tools/call'))).toBe(
      reply(JSON.stringify(SERVER)),
    );
  });

  it.each([
    ['behind a comma', `"resultType":"complete", "a":1,"_meta":${JSON.stringify(info)}`],
    ['before the name', `"resultType":"complete","a":1,"_meta":{"${KEY}": {"name":"backend"}}`],
    ['behind the name', `"resultType":"complete","a":1,"_meta":{"${KEY}":{"name":"backend"} }`],
    ['before _meta', `"resultType":"complete","a":1 ,"_meta":${JSON.stringify(info)}`],
  ])('may have space %s', (_, members) => {
    expect(replied(`{"jsonrpc":"2.0","id":7,"result":{${members}}}`)).toEqual({
      jsonrpc: '2.0',
      id: 7,
      result: { resultType: 'complete', a: 1, _meta: own },
    });
  });

  it.each([
    [
      'members behind the result',
      `{"result":{"resultType":"complete","_meta":${JSON.stringify(info)}},"jsonrpc":"2.0","id":7,"x":{}}`,
    ],
    [
      'a deeper object',
      `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","a":{"_meta":${JSON.stringify(info)}}}}`,
    ],
  ])('is read in full with %s', (_, text) => {
    const { result, ...others } = JSON.parse(text) as { result: object };
    const given = JSON.parse(textOf(stamp.reply(Buffer.from(text), id, 'tools/call'))) as { result: object };
    expect(given.result).toEqual({ ...result, resultType: 'complete', _meta: own });
    expect(given).toMatchObject(others);
  });

  it('gets a missing hint when it is a resource', () => {
    const result = { contents: [], resultType: 'complete', ttlMs: 5, _meta: info };
    expect(replied(JSON.stringify({ jsonrpc: '2.0', id: 7, result }), 'resources/read')).toMatchObject({
      result: { contents: [], ttlMs: 5, cacheScope: 'private', _meta: own },
    });
  });

  it('gets no hint when it asks for input', () => {
    const result = { resultType: 'input_required', requestState: 's', _meta: info };
    expect(replied(JSON.stringify({ jsonrpc: '2.0', id: 7, result }), 'resources/read')).toMatchObject({
      result: { ...result, _meta: own },
    });
  });
});

it('stamps a text that only quotes the member', () => {
  expect(replied('{"jsonrpc":"2.0","id":7,"result":{"content":[{"resultType":"x"}]}}')).toMatchObject({
    result: { resultType: 'complete', content: [{ resultType: 'x' }] },
  });
});

it('gives a list its hint', () => {
  const text = stamp.result(Buffer.from('{"tools":[]}'), 'tools/list', { ttlMs: 5, cacheScope: 'public' });
  expect(JSON.parse(text.toString())).toMatchObject({
    resultType: 'complete',
    ttlMs: 5,
    cacheScope: 'public',
    tools: [],
  });
  expect(stamp.result(text, 'tools/list', NOT_CACHED)).toBe(text);
});
