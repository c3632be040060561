import { expect, it } from 'vitest';
import type { BackendFailure, BackendRequest, ReplySink } from '../channel.ts';
import { BridgedRequest } from './bridged-request.ts';

const REQUEST: BackendRequest = { method: 'tools/call', params: undefined, id: Buffer.from('7'), timeoutMs: 1_000 };

/** Returns what the client gets when the backend replies with `result`, a JSON text: a message, a reply or the kind of a failure. */
function received(result: string): string {
  const got: string[] = [];
  const sink: ReplySink = {
    reply: (message) => void got.push(message.toString()),
    message: (message) => void got.push(message.toString()),
    fail: ({ kind }: BackendFailure) => void got.push(kind),
  };
  const handle = { cancel() {}, pauseTimeout() {}, restartTimeout() {} };
  const bridged = new BridgedRequest(
    REQUEST,
    sink,
    () => handle,
    () => '"q1"',
    () => undefined,
  );
  bridged.reply(Buffer.from(`{"jsonrpc":"2.0","id":7,"result":${result}}`));
  bridged.cancel('the test has ended');
  return got[0] ?? '';
}

/** Returns what the client gets when the backend asks for `request`, a JSON text. */
const askedFor = (request: string): string =>
  received(`{"resultType":"input_required","inputRequests":{"a":${request}}}`);

it.each([
  ['{"method":"m"}', '{"jsonrpc":"2.0","id":"q1","method":"m"}'],
  [
    '{"params":{"n":9007199254740993,"x": 1.0},"method":"m"}',
    '{"jsonrpc":"2.0","id":"q1","method":"m","params":{"n":9007199254740993,"x": 1.0}}',
  ],
  ['{"id":1,"result":{},"method":"m","params":{}}', '{"jsonrpc":"2.0","id":"q1","method":"m","params":{}}'],
  ['{"params":{}}', 'garbage'],
  ['{"method":1}', 'garbage'],
  ['"m"', 'garbage'],
])('asks the client for what the backend asks for, byte for byte: %s', (request, expected) => {
  expect(askedFor(request)).toBe(expected);
});

it('gives a question by URL the id that sessions need, and keeps one that it has', () => {
  const page = (more: object = {}): string =>
    JSON.stringify({ method: 'elicitation/create', params: { mode: 'url', url: 'https://a.example/', ...more } });
  const idIn = (asked: string): unknown =>
    (JSON.parse(asked) as { params: { elicitationId?: unknown } }).params.elicitationId;
  const first = idIn(askedFor(page()));
  expect(first).toMatch(/^[0-9a-f-]{36}$/u);
  expect(idIn(askedFor(page()))).not.toBe(first);
  expect(idIn(askedFor(page({ elicitationId: 'own' })))).toBe('own');
  expect(idIn(askedFor(page().replace('"url"', '"form"')))).toBeUndefined();
});

it('rejects a result of a type that MCP does not have', () => {
  expect(received('{"resultType":"partial","content":[]}')).toBe('garbage');
  expect(received('{"resultType":"complete","content":[]}')).toContain('"content":[]');
});
