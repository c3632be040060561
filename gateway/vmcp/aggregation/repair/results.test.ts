import { isSpecType } from '@modelcontextprotocol/client';
import * as newest from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { repairReply } from './results.ts';

const OLD = '2025-11-25';
const NEW = '2026-07-28';

const reply = (result: object | string): Buffer =>
  Buffer.from(`{"jsonrpc":"2.0","id":7,"result":${typeof result === 'string' ? result : JSON.stringify(result)}}`);

/** Returns the result as its client gets it, and the faults. */
function repaired(method: string, result: object | string, from = OLD, to = OLD) {
  const given = reply(result);
  const found = repairReply(method, given, from, to, 'file:///asked');
  const { result: after } = JSON.parse((found?.reply ?? given).toString()) as { readonly result: unknown };
  return { after, faults: found?.repairs.map(({ fault, outcome }) => `${fault.path} ${fault.words}${outcome}`) ?? [] };
}

const text = (members: object = {}): object => ({ type: 'text', text: 'x', ...members });
const TEXT = [text()];

describe('a result with an odd member is repaired:', () => {
  it.each<[string, string, object, object, string]>([
    [
      'structured content of null',
      'tools/call',
      { content: TEXT, structuredContent: null },
      { content: TEXT },
      'structuredContent is null and is left out',
    ],
    [
      'structured content that is a list',
      'tools/call',
      { content: TEXT, structuredContent: [1] },
      { content: TEXT },
      'structuredContent is no object and is left out',
    ],
    [
      'only structured content that is a list',
      'tools/call',
      { content: [], structuredContent: [1] },
      { content: [{ type: 'text', text: '[1]' }] },
      'content is empty and becomes the structured content as text',
    ],
    [
      'one block in place of the list',
      'tools/call',
      { content: text() },
      { content: TEXT },
      'content is no list and becomes its only element',
    ],
    [
      'a text in place of the list',
      'tools/call',
      { content: 'x' },
      { content: TEXT },
      'content is a string and becomes a text',
    ],
    [
      'a number in place of the text, behind another block',
      'tools/call',
      { content: [text(), { type: 'text', text: 5 }] },
      { content: [text(), { type: 'text', text: '5' }] },
      'content[].text is no string and becomes its JSON text',
    ],
    [
      'an image without a type',
      'tools/call',
      { content: [text(), { type: 'image', data: 'AA==' }] },
      { content: TEXT },
      'content[].mimeType is missing, so "content[]" is left out',
    ],
    [
      'a text in place of the content of a message',
      'prompts/get',
      { messages: [{ role: 'user', content: 'x' }, null] },
      { messages: [{ role: 'user', content: text() }] },
      'messages[].content is a string and becomes a text',
    ],
    [
      'an error flag of null',
      'tools/call',
      { content: TEXT, isError: null },
      { content: TEXT },
      'isError is null and is left out',
    ],
    [
      'metadata of null',
      'tools/call',
      { content: TEXT, _meta: null },
      { content: TEXT },
      '_meta is null and is left out',
    ],
    [
      'content of null',
      'tools/call',
      { content: null, isError: true },
      { isError: true, content: [] },
      'content is null and becomes []',
    ],
    [
      'no content',
      'tools/call',
      { structuredContent: { a: 1 } },
      { structuredContent: { a: 1 }, content: [] },
      'content is missing and becomes []',
    ],
    [
      'annotations of null',
      'tools/call',
      { content: [text({ annotations: null })] },
      { content: TEXT },
      'content[].annotations is null and is left out',
    ],
    [
      'an audience of null',
      'tools/call',
      { content: [text({ annotations: { audience: null, priority: 1 } })] },
      { content: [text({ annotations: { priority: 1 } })] },
      'content[].annotations.audience is null and is left out',
    ],
    [
      'a priority of 7',
      'tools/call',
      { content: [text({ annotations: { priority: 7 } })] },
      { content: [text({ annotations: {} })] },
      'content[].annotations.priority is no number from 0 to 1 and is left out',
    ],
    [
      'a text of null',
      'tools/call',
      { content: [{ type: 'text', text: null }] },
      { content: [{ type: 'text', text: '' }] },
      'content[].text is null and becomes ""',
    ],
    [
      'an element of null',
      'tools/call',
      { content: [null, text()] },
      { content: TEXT },
      'content[] is null and is left out',
    ],
    [
      'an image without its bytes',
      'tools/call',
      { content: [{ type: 'image', data: null, mimeType: 'image/png' }, text()] },
      { content: TEXT },
      'content[].data is null, so "content[]" is left out',
    ],
    [
      'a resource with a type of null',
      'tools/call',
      { content: [{ type: 'resource', resource: { uri: 'a:b', mimeType: null, text: 'x', blob: null } }] },
      { content: [{ type: 'resource', resource: { uri: 'a:b', text: 'x' } }] },
      'content[].resource.mimeType is null and is left out',
    ],
    [
      'a link with null members',
      'tools/call',
      { content: [{ type: 'resource_link', uri: 'a:b', name: 'n', size: null, title: null }] },
      { content: [{ type: 'resource_link', uri: 'a:b', name: 'n' }] },
      'content[].size is null and is left out',
    ],
    [
      'contents with null members',
      'resources/read',
      { contents: [{ uri: 'a:b', mimeType: null, text: 'x', blob: null, _meta: null }] },
      { contents: [{ uri: 'a:b', text: 'x' }] },
      'contents[].mimeType is null and is left out',
    ],
    [
      'contents without a URI',
      'resources/read',
      { contents: [{ text: 'x' }] },
      { contents: [{ text: 'x', uri: 'file:///asked' }] },
      'contents[].uri is missing and becomes the URI of the request',
    ],
    [
      'a prompt with null members',
      'prompts/get',
      { description: null, messages: [{ role: 'user', content: text({ _meta: null }) }] },
      { messages: [{ role: 'user', content: text() }] },
      'description is null and is left out',
    ],
    [
      'a completion with null members',
      'completion/complete',
      { completion: { values: ['a'], total: null, hasMore: null } },
      { completion: { values: ['a'] } },
      'completion.total is null and is left out',
    ],
    [
      'a completion of 101 values',
      'completion/complete',
      { completion: { values: Array.from({ length: 101 }, () => 'a') } },
      { completion: { values: Array.from({ length: 100 }, () => 'a') } },
      'completion.values has more than 100 elements, so the others are left out',
    ],
  ])('%s', (_, method, given, expected, fault) => {
    const { after, faults } = repaired(method, given);
    expect(after).toEqual(expected);
    expect(faults).toContain(fault);
  });
});

describe('a result that its client can read passes as it is:', () => {
  it.each<[string, string, object | string]>([
    [
      'a text that quotes null members',
      'tools/call',
      { content: [text({ text: '{"structuredContent":null,"_meta":null}' })] },
    ],
    ['null in structured content', 'tools/call', { content: TEXT, structuredContent: { title: null, text: [null] } }],
    [
      'unusual bytes',
      'tools/call',
      String.raw`{"content":[{"type":"text","text":"\ud800","_meta":{"k":[1.0,null]}},{"type":"x-new","p":{"b":null}}],"x":null}`,
    ],
    ['annotations', 'tools/call', { content: [text({ annotations: { audience: ['user'], priority: 1, x: null } })] }],
    ['a task', 'tools/call', { task: { taskId: '1', ttl: null } }],
    ['a question', 'tools/call', { resultType: 'input_required', inputRequests: {} }],
    ['a question of a prompt', 'prompts/get', { resultType: 'input_required', inputRequests: {} }],
  ])('%s', (_, method, given) => {
    expect(repairReply(method, reply(given), OLD, OLD, '')).toBeUndefined();
  });

  it('any structured content between two ends of 2026-07-28', () => {
    const given = reply({ resultType: 'complete', content: TEXT, structuredContent: null });
    expect(repairReply('tools/call', given, NEW, NEW, '')).toBeUndefined();
    const list = { content: TEXT, structuredContent: [1] };
    expect(repaired('tools/call', list, OLD, NEW)).toEqual({ after: list, faults: [] });
    expect(repaired('tools/call', { content: TEXT, structuredContent: null }, OLD, NEW).after).toEqual({
      content: TEXT,
    });
  });

  it('an error, and another method', () => {
    const error = Buffer.from('{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x","data":null}}');
    expect(repairReply('tools/call', error, OLD, OLD, '')).toBeUndefined();
    expect(repairReply('tasks/get', reply({ _meta: null }), OLD, OLD, '')).toBeUndefined();
  });
});

const ANNOTATIONS = { audience: ['user'], priority: 0.5, lastModified: '2025-01-12T15:00:58Z' };
const RESOURCE = { uri: 'file:///a', mimeType: 'text/plain', text: 't', _meta: { a: 1 } };
/** Results with all members that clients know. */
const WHOLE: Readonly<Record<string, object>> = {
  'tools/call': {
    content: [
      text({ annotations: ANNOTATIONS, _meta: { a: 1 } }),
      { type: 'image', data: 'AA==', mimeType: 'image/png', annotations: ANNOTATIONS },
      {
        type: 'resource_link',
        uri: 'a:b',
        name: 'n',
        title: 't',
        description: 'd',
        mimeType: 'm',
        size: 5,
        icons: [{ src: 'x' }],
      },
      { type: 'resource', resource: RESOURCE, annotations: ANNOTATIONS },
    ],
    structuredContent: { a: 1 },
    isError: false,
    _meta: { progressToken: 5 },
  },
  'resources/read': { contents: [RESOURCE, { uri: 'file:///b', blob: 'AA==' }], _meta: {} },
  'prompts/get': {
    description: 'd',
    messages: [{ role: 'user', content: text({ annotations: ANNOTATIONS }) }],
    _meta: {},
  },
  'completion/complete': { completion: { values: ['a'], total: 1, hasMore: false }, _meta: {} },
};

const CHECKS: Readonly<Record<string, readonly ((result: unknown) => boolean)[]>> = {
  'tools/call': [(result) => newest.CallToolResultSchema.safeParse(result).success, isSpecType.CallToolResult],
  'resources/read': [
    (result) => newest.ReadResourceResultSchema.safeParse(result).success,
    isSpecType.ReadResourceResult,
  ],
  'prompts/get': [(result) => newest.GetPromptResultSchema.safeParse(result).success, isSpecType.GetPromptResult],
  'completion/complete': [(result) => newest.CompleteResultSchema.safeParse(result).success, isSpecType.CompleteResult],
};

/** Lists copies of a value in which one member or element is null. */
const withNulls = (value: unknown): unknown[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    [null, ...withNulls(inner)].map((other) =>
      Array.isArray(value) ? value.with(Number(key), other) : { ...value, [key]: other },
    ),
  );
};

it.each(Object.keys(WHOLE))('no null in a result of %s makes an SDK reject it', (method) => {
  const isRead = (result: unknown): boolean =>
    newest.JSONRPCMessageSchema.safeParse({ jsonrpc: '2.0', id: 7, result }).success &&
    (CHECKS[method] ?? []).every((check) => check(result));
  const odd = withNulls(WHOLE[method]) as object[];
  expect(odd.filter((result) => !isRead(result)).length).toBeGreaterThan(5);
  expect(odd.filter((result) => !isRead(repaired(method, result).after))).toEqual([]);
});
