import { describe, expect, it } from 'vitest';
import { LARGE_BODY_BYTES } from './body-pieces.ts';
import { RequestBodies } from './request.ts';

const bodies = new RequestBodies();
const bytesOf = (body: ReturnType<RequestBodies['of']>): Buffer =>
  Buffer.isBuffer(body) ? body : Buffer.concat([...body]);

const request = (method: string, params?: string) => ({
  method,
  params: params === undefined ? undefined : Buffer.from(params),
  id: Buffer.from('1'),
  timeoutMs: 1,
});

describe.each([0, LARGE_BODY_BYTES])('a request with %i more bytes', (length) => {
  const text = 'é'.repeat(length);

  it('has its own id and the same params', () => {
    const params = { name: 'a', text };
    const body = bytesOf(bodies.of('7', request('tools/call', JSON.stringify(params))));
    expect(JSON.parse(body.toString())).toEqual({ jsonrpc: '2.0', id: 7, method: 'tools/call', params });
  });

  it('gets members inserted into its params', () => {
    const given = request('tools/call', JSON.stringify({ _meta: {}, text }));
    const body = bytesOf(bodies.of('8', given, '{"_meta":{'.length, Buffer.from('"a":"ü"')));
    const params = { _meta: { a: 'ü' }, text };
    expect(JSON.parse(body.toString())).toEqual({ jsonrpc: '2.0', id: 8, method: 'tools/call', params });
  });
});

it('writes each method, also without params', () => {
  const methods = ['ping', 'tools/list', 'ping'];
  const bodyOf = (method: string): unknown => JSON.parse(bytesOf(bodies.of('1', request(method))).toString());
  expect(methods.map(bodyOf)).toEqual(methods.map((method) => ({ jsonrpc: '2.0', id: 1, method })));
});
