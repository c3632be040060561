import { describe, expect, it, vi } from 'vitest';
import { scanEnvelope } from '../http/json-scan.ts';
import { missingFor, ServerRequests } from './server-requests.ts';
import { newReplicaName, replicaOfRequest, requestIdOf } from './replicas/replica-name.ts';
import type { Channel } from './transport/channel.ts';

function fixture() {
  const sent: string[] = [];
  const channel = { send: (message: Buffer) => sent.push(message.toString()) } as unknown as Channel;
  const requests = new ServerRequests();
  const forward = (id: number, call?: { pauseTimeout(): void; restartTimeout(): void }): string | undefined => {
    const message = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method: 'roots/list' }));
    return requests.forward(channel, message, scanEnvelope(message), call)?.toString();
  };
  const answer = (id: number | string): boolean => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
    return requests.answer(body, scanEnvelope(body));
  };
  return { sent, requests, forward, answer };
}

const call = () => ({ pauseTimeout: vi.fn(), restartTimeout: vi.fn() });

it('sends the answer to the backend under its own id, once', () => {
  const { sent, forward, answer } = fixture();
  expect(forward(7)).toContain('"id":1');
  expect([answer(1), answer(1), answer(2)]).toEqual([true, false, false]);
  expect(sent).toEqual(['{"jsonrpc":"2.0","id":7,"result":{}}']);
});

it('takes the text of an id for the id, as some clients write it', () => {
  const { sent, forward, answer } = fixture();
  forward(7);
  expect(answer('1')).toBe(true);
  expect(sent).toEqual(['{"jsonrpc":"2.0","id":7,"result":{}}']);
});

it.each(['', 'one', 'vmcp-1', -1, 0, 2, '1'.repeat(40)])('finds no request with the id %j', (id) => {
  const { forward, answer } = fixture();
  forward(7);
  expect(answer(id)).toBe(false);
});

it('has integers as ids that name their replica, for two million requests of a session', () => {
  for (let count = 0; count < 100; count += 1) {
    const name = newReplicaName();
    const ids = [1, 2, 2 ** 21 - 1].map((number) => requestIdOf(name, number));
    expect(name).toMatch(/^[0-9a-z]{8}$/);
    expect(ids.every(Number.isSafeInteger)).toBe(true);
    expect(new Set(ids).size).toBe(3);
    expect(ids.map(replicaOfRequest)).toEqual([name, name, name]);
  }
  expect([0, 1].map(replicaOfRequest)).toEqual([undefined, undefined]);
});

it('forwards no request with an id or progress token that is too long', () => {
  const { requests } = fixture();
  const long = 'x'.repeat(2_000);
  const forward = (message: object): Buffer | undefined => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'roots/list', ...message }));
    return requests.forward({} as Channel, body, scanEnvelope(body), undefined);
  };
  expect(forward({ id: long })).toBeUndefined();
  expect(forward({ id: 1, params: { _meta: { progressToken: long } } })).toBeUndefined();
  expect(forward({ id: 1, params: { _meta: { progressToken: 't' }, text: long } })).toBeDefined();
});

it('gives each request a progress token of its own, and the progress to the backend of the request under its token', () => {
  const requests = new ServerRequests();
  const sent: string[] = [];
  const forward = (backend: string, token: number | string): unknown => {
    const channel = { send: (message: Buffer) => sent.push(`${backend} ${message.toString()}`) } as unknown as Channel;
    const params = { _meta: { progressToken: token }, messages: [] };
    const message = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'sampling/createMessage', params }));
    return JSON.parse(requests.forward(channel, message, scanEnvelope(message), undefined)?.toString() ?? '');
  };
  const progress = (progressToken: unknown): boolean => {
    const params = { progressToken, progress: 1 };
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params }));
    return requests.progress(body, scanEnvelope(body));
  };
  expect(forward('one', 0)).toMatchObject({
    id: 1,
    params: { _meta: { progressToken: 1 }, messages: [] },
  });
  expect(forward('two', 0)).toMatchObject({ id: 2, params: { _meta: { progressToken: 2 } } });
  expect([progress(2), progress(0), progress(3)]).toEqual([true, false, false]);
  expect(sent).toEqual([
    'two {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":1}}',
  ]);
});

it('accepts an answer after the call has ended, and no longer pauses the call', () => {
  const { sent, requests, forward, answer } = fixture();
  const ended = call();
  forward(0, ended);
  expect(ended.pauseTimeout).toHaveBeenCalledOnce();
  requests.release(ended);
  expect(answer(1)).toBe(true);
  expect(sent).toHaveLength(1);
  expect(ended.restartTimeout).not.toHaveBeenCalled();
});

it('drops the oldest unanswered requests outside of calls', () => {
  const { requests, forward, answer } = fixture();
  for (let id = 0; id < 150; id += 1) {
    const ended = call();
    expect(forward(id, ended)).toBeDefined();
    requests.release(ended);
  }
  expect([answer(1), answer(150)]).toEqual([false, true]);
});

it('accepts at most a hundred requests that belong to calls', () => {
  const { forward } = fixture();
  for (let id = 0; id < 100; id += 1) forward(id, call());
  expect(forward(100, call())).toBeUndefined();
});

describe('the capabilities that a client misses for a question', () => {
  const missing = (method: string, params: object | undefined, declared: object): object | undefined => {
    const text = Buffer.from(JSON.stringify(params ?? {}));
    const client = { offers: new Set(Object.keys(declared)), capabilities: JSON.stringify(declared) };
    return missingFor(method, text, params && { start: 0, end: text.length }, client);
  };

  it.each<[string, object | undefined, object, object | undefined]>([
    ['roots/list', undefined, { roots: {} }, undefined],
    ['roots/list', undefined, {}, { roots: {} }],
    ['elicitation/create', {}, {}, { elicitation: {} }],
    ['elicitation/create', {}, { elicitation: {} }, undefined],
    ['elicitation/create', { mode: 'form' }, { elicitation: {} }, undefined],
    ['elicitation/create', { mode: 'form' }, { elicitation: { form: {}, url: {} } }, undefined],
    ['elicitation/create', {}, { elicitation: { url: {} } }, { elicitation: { form: {} } }],
    ['elicitation/create', { mode: 'url' }, { elicitation: { url: {} } }, undefined],
    ['elicitation/create', { mode: 'url' }, { elicitation: {} }, { elicitation: { url: {} } }],
    ['elicitation/create', { mode: 'url' }, {}, { elicitation: { url: {} } }],
    ['sampling/createMessage', {}, { sampling: {} }, undefined],
    ['sampling/createMessage', { tools: [] }, { sampling: {} }, { sampling: { tools: {} } }],
    ['sampling/createMessage', { toolChoice: {} }, { sampling: { context: {} } }, { sampling: { tools: {} } }],
    ['sampling/createMessage', { tools: [] }, { sampling: { tools: {} } }, undefined],
    ['sampling/createMessage', { tools: [] }, { sampling: true }, { sampling: { tools: {} } }],
  ])('%s with %j of a client that declares %j', (method, params, declared, expected) => {
    expect(missing(method, params, declared)).toEqual(expected);
  });
});
