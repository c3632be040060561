import { describe, expect, it } from 'vitest';
import { scanEnvelope } from '../../../http/json-scan.ts';
import { classify } from './classify.ts';

const VERSION = '2026-07-28';
const meta = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const { 'io.modelcontextprotocol/protocolVersion': _version, ...withoutVersion } = meta;
const { 'io.modelcontextprotocol/clientCapabilities': _capabilities, ...withoutCapabilities } = meta;
const { 'io.modelcontextprotocol/clientInfo': _client, ...withoutClient } = meta;

const list = { 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/list' };
const call = { 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call', 'mcp-name': 'a' };

const withLogLevel = (level: unknown): object => ({
  id: 1,
  method: 'tools/list',
  params: { _meta: { ...meta, 'io.modelcontextprotocol/logLevel': level } },
});

function eraOf(headers: Record<string, string>, message: object, olderVersionHeaderClients: string[] = []) {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
  const found = classify(headers, body, scanEnvelope(body), olderVersionHeaderClients);
  return found.era === 'rejected' ? found.rejection.code : found.era;
}

it('finds a claim with escapes', () => {
  const escaped = JSON.stringify({ id: 1, method: 'tools/list', params: { _meta: meta } }).replaceAll(
    '"io',
    '"\\u0069o',
  );
  const body = Buffer.from(`{"jsonrpc":"2.0",${escaped.slice(1)}`);
  expect(classify(list, body, scanEnvelope(body), [])).toMatchObject({ era: 'modern', meta: { claimed: VERSION } });
});

describe('the era of a message', () => {
  it.each([
    ['a request of 2025', {}, { id: 1, method: 'tools/list', params: {} }, 'legacy'],
    ['its progress token', {}, { id: 1, method: 'tools/list', params: { _meta: { progressToken: 1 } } }, 'legacy'],
    ['initialize', {}, { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } }, 'legacy'],
    ['initialize with the claim', list, { id: 1, method: 'initialize', params: { _meta: meta } }, -32020],
    ['a response', {}, { id: 1, result: {} }, 'legacy'],
    ['a response of the new revision', list, { id: 1, result: {} }, -32600],
    ['a request', list, { id: 1, method: 'tools/list', params: { _meta: meta } }, 'modern'],
    ['one without clientInfo', list, { id: 1, method: 'tools/list', params: { _meta: withoutClient } }, 'modern'],
    ['one without _meta', list, { id: 1, method: 'tools/list', params: {} }, -32602],
    ['one without version', list, { id: 1, method: 'tools/list', params: { _meta: withoutVersion } }, -32602],
    ['one without capabilities', list, { id: 1, method: 'tools/list', params: { _meta: withoutCapabilities } }, -32602],
    ['one with a log level', list, withLogLevel('warning'), 'modern'],
    ['one with an unknown log level', list, withLogLevel('loud'), -32602],
    ['one with a log level that is no text', list, withLogLevel(4), -32602],
    ['one without headers', {}, { id: 1, method: 'tools/list', params: { _meta: meta } }, -32020],
    [
      'an old version header',
      { ...list, 'mcp-protocol-version': '2025-11-25' },
      { id: 1, method: 'tools/list', params: { _meta: meta } },
      -32020,
    ],
    [
      'an unknown version in both places',
      { ...list, 'mcp-protocol-version': 'v9' },
      {
        id: 1,
        method: 'tools/list',
        params: { _meta: { ...meta, 'io.modelcontextprotocol/protocolVersion': 'v9' } },
      },
      -32022,
    ],
    ['an unknown version header alone', { 'mcp-protocol-version': 'v9' }, { id: 1, method: 'tools/list' }, -32022],
    ['one of initialize', { 'mcp-protocol-version': 'v9' }, { id: 1, method: 'initialize', params: {} }, 'legacy'],
    ['one of a notification', { 'mcp-protocol-version': 'v9' }, { method: 'notifications/initialized' }, 'legacy'],
    [
      'another method',
      { ...list, 'mcp-method': 'tools/call' },
      { id: 1, method: 'tools/list', params: { _meta: meta } },
      -32020,
    ],
    ['a name', call, { id: 1, method: 'tools/call', params: { name: 'a', _meta: meta } }, 'modern'],
    ['another name', call, { id: 1, method: 'tools/call', params: { name: 'b', _meta: meta } }, -32020],
    [
      'an encoded name',
      { ...call, 'mcp-name': '=?base64?w6k=?=' },
      { id: 1, method: 'tools/call', params: { name: 'é', _meta: meta } },
      'modern',
    ],
    [
      'broken Base64',
      { ...call, 'mcp-name': '=?base64?w6k?=' },
      { id: 1, method: 'tools/call', params: { name: 'é', _meta: meta } },
      -32020,
    ],
    ['a notification', list, { method: 'tools/list' }, 'modern'],
    ['a notification with another method', list, { method: 'notifications/x' }, -32020],
    [
      'a contradiction in a request of 2025',
      { 'mcp-method': 'tools/list' },
      { id: 1, method: 'tools/call', params: { name: 'a' } },
      -32020,
    ],
    [
      'a wrong name in a request of 2025',
      { 'mcp-method': 'tools/call', 'mcp-name': 'b', 'mcp-protocol-version': '2025-11-25' },
      { id: 1, method: 'tools/call', params: { name: 'a' } },
      -32020,
    ],
    [
      'the right headers of a request of 2025',
      { 'mcp-method': 'tools/call', 'mcp-name': 'a' },
      { id: 1, method: 'tools/call', params: { name: 'a' } },
      'legacy',
    ],
  ])('%s', (_, headers, message, expected) => {
    expect(eraOf(headers, message)).toBe(expected);
  });

  it('refuses a member of _meta that occurs twice', () => {
    const twice = JSON.stringify(meta).replace('{', '{"io.modelcontextprotocol/protocolVersion":"2025-11-25",');
    const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":${twice}}}`);
    expect(classify(list, body, scanEnvelope(body), [])).toMatchObject({
      era: 'rejected',
      rejection: { code: -32602 },
    });
  });
});

describe('an older version header of a named client', () => {
  const old = { 'mcp-protocol-version': '2025-11-25' };
  const message = { id: 1, method: 'tools/call', params: { name: 'a', _meta: meta } };

  it.each([
    ['is accepted', old, message, ['other', 'c'], 'modern'],
    ['is accepted with headers that agree', { ...call, ...old }, message, ['c'], 'modern'],
    ['does not excuse another method', { ...old, 'mcp-method': 'tools/list' }, message, ['c'], -32020],
    ['does not excuse another name', { ...call, ...old, 'mcp-name': 'b' }, message, ['c'], -32020],
    ['is rejected for other clients', { ...call, ...old }, message, ['C', 'cc'], -32020],
    ['must name a revision', { ...call, 'mcp-protocol-version': 'v1' }, message, ['c'], -32020],
    ['must not be absent', { 'mcp-method': 'tools/call', 'mcp-name': 'a' }, message, ['c'], -32020],
    [
      'does not excuse a client without a name',
      { ...call, ...old },
      { ...message, params: { name: 'a', _meta: withoutClient } },
      ['c'],
      -32020,
    ],
    [
      'does not excuse missing members',
      { ...call, ...old },
      { ...message, params: { name: 'a', _meta: withoutCapabilities } },
      ['c'],
      -32602,
    ],
  ])('%s', (_, headers, sent, clients, expected) => {
    expect(eraOf(headers, sent, clients)).toBe(expected);
  });
});

it.each([
  ['2024-01-01', '2024-01-01'],
  ['DRAFT-2026-v1', 'DRAFT-2026-v1'],
  ['eyJhbGciOiJSUzI1NiJ9', ''], // a credential in the wrong header must not come back
])('names the unknown revision %s of a header as "%s"', (version, requested) => {
  const body = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
  const found = classify({ 'mcp-protocol-version': version }, body, scanEnvelope(body), []);
  expect(found).toMatchObject({ rejection: { code: -32022, data: { requested } } });
  expect(JSON.stringify(found).includes(version)).toBe(requested === version);
});
