import { describe, expect, it } from 'vitest';
import { asOlderReply, readInputRequired, resultTypeOf } from './result-text.ts';

const reply = (result: object): Buffer => Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
const older = (result: object): unknown =>
  (JSON.parse(asOlderReply(reply(result)).toString()) as { result: unknown }).result;

describe('a reply for a client of an older revision', () => {
  it.each([
    [{ resultType: 'complete', tools: [], ttlMs: 1, cacheScope: 'public' }, { tools: [] }],
    [
      { resultType: 'complete', _meta: { 'io.modelcontextprotocol/serverInfo': {}, a: 1 }, x: 1 },
      { _meta: { a: 1 }, x: 1 },
    ],
    [{ resultType: 'complete', _meta: { 'io.modelcontextprotocol/serverInfo': {} } }, {}],
    [{ content: [{ resultType: 'x' }] }, { content: [{ resultType: 'x' }] }],
    [
      { resultType: 'complete', content: [], structuredContent: { a: [1] } },
      { content: [], structuredContent: { a: [1] } },
    ],
    [{ resultType: 'complete', content: [{ type: 'text' }], structuredContent: [1] }, { content: [{ type: 'text' }] }],
    [
      { resultType: 'complete', structuredContent: ['é'], content: [], isError: false },
      { content: [{ type: 'text', text: '["é"]' }], isError: false },
    ],
    [{ resultType: 'complete', structuredContent: null }, { content: [{ type: 'text', text: 'null' }] }],
  ])('%j', (given, expected) => {
    expect(older(given)).toEqual(expected);
  });

  it('keeps the bytes of everything else', () => {
    const text = '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","n":1.0e2, "s":"\\u00e9"}}';
    expect(asOlderReply(Buffer.from(text)).toString()).toBe(
      '{"jsonrpc":"2.0","id":1,"result":{"n":1.0e2,"s":"\\u00e9"}}',
    );
  });
});

describe('the type of a result', () => {
  it.each([
    [{ content: [] }, 'complete'],
    [{ resultType: 'complete' }, 'complete'],
    [{ resultType: 'task', taskId: '1' }, 'task'],
    [{ resultType: 'input_required' }, 'input_required'],
    [{ structuredContent: { resultType: 'task' }, resultType: 'complete' }, 'complete'],
    [{ structuredContent: { resultType: 'task' } }, 'complete'],
    [{ structuredContent: { resultType: 'complete' }, resultType: 'task' }, 'task'],
    [{ resultType: 7 }, 'complete'],
  ])('of %j is %s', (result, type) => {
    expect(resultTypeOf(reply(result))).toBe(type);
  });

  it('is the last of two, as JSON.parse reads it', () => {
    const text = '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","resultType" : "task"}}';
    expect(resultTypeOf(Buffer.from(text))).toBe('task');
  });

  it('of an error is complete', () => {
    const error = { code: -32603, message: 'no "resultType"', data: { resultType: 'task' } };
    expect(resultTypeOf(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, error })))).toBe('complete');
  });
});

describe('what a backend asks for', () => {
  it('is read from the result', () => {
    const needed = readInputRequired(
      reply({ resultType: 'input_required', inputRequests: { a: { method: 'roots/list' } }, requestState: 's' }),
    );
    expect(needed).toEqual({ requests: new Map([['a', '{"method":"roots/list"}']]), state: 's' });
  });

  it.each([[{ resultType: 'complete' }], [{ content: [{ resultType: 'input_required' }] }]])(
    'is nothing in %j',
    (result) => {
      expect(readInputRequired(reply(result))).toBeUndefined();
    },
  );
});
