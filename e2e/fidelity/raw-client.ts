import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { RawSession } from '../harness/clients/raw.ts';
import type { ReplyCase } from './corpus/case.ts';
import { caseUri } from './raw-backend.ts';

export interface RawMessage {
  readonly status: number;
  /** The message with one character per byte, so that decoding loses nothing. */
  readonly bytes: string;
  /** True when it was not the first event of its stream. */
  readonly inStream: boolean;
}

/** Returns the bytes of a JSON text, one character each. */
export const bytesOf = (text: string): string => Buffer.from(text).toString('latin1');

/** Sends a request and returns the last message of the answer unchanged. */
export type Ask = (method: string, params: unknown) => Promise<RawMessage>;

export const CLIENT_ID = 'client-7';

/** Returns a function that sends requests over streamable HTTP in this session. */
export const asker =
  (url: string, { headers }: RawSession): Ask =>
  (method, params) =>
    new Promise((resolve, reject) => {
      const sent = request(url, { method: 'POST', headers, timeout: 30_000 });
      sent.once('timeout', () => sent.destroy(new Error('no answer within 30 s')));
      sent.once('error', reject);
      sent.once('response', (response) => {
        const inStream = response.headers['content-type']?.startsWith('text/event-stream') === true;
        buffer(response).then((bytes) => {
          const text = bytes.toString('latin1');
          const last = inStream ? (eventsOf(text).at(-1) ?? '') : text;
          resolve({ status: response.statusCode ?? 0, bytes: last, inStream });
        }, reject);
      });
      sent.end(JSON.stringify({ jsonrpc: '2.0', id: CLIENT_ID, method, params }));
    });

/** Returns the data of every event of a stream that has data. */
export const eventsOf = (stream: string): string[] =>
  stream
    .split('\n\n')
    .map((block) => block.split('\n').filter((line) => line.startsWith('data:')))
    .map((lines) => lines.map((line) => line.replace(/^data: ?/, '')).join('\n'))
    .filter((data) => data !== '');

/** Returns the params of the request for a case; `advertised` returns the name of a tool or prompt at the gateway. */
export function paramsOf({ method, name }: ReplyCase, backend: string, advertised: (name: string) => string): unknown {
  switch (method) {
    case 'tools/call':
      return { name: advertised(name), arguments: {} };
    case 'prompts/get':
      return { name: advertised(name) };
    case 'resources/read':
      return { uri: caseUri(backend, name) };
    case 'completion/complete':
      return { ref: { type: 'ref/prompt', name: advertised(name) }, argument: { name: 'a', value: '' } };
  }
}

const AROUND = 60;

/** Compares two texts. @throws Error with the place of the first difference, because a diff of 5 MB is unreadable */
export function expectSameBytes(actual: string | undefined, expected: string): void {
  if (actual === expected) return;
  if (actual === undefined) throw new Error(`the reply has no such member; expected ${expected.slice(0, AROUND)}`);
  let at = 0;
  while (actual[at] === expected[at]) at += 1;
  const around = (text: string) => JSON.stringify(text.slice(Math.max(0, at - AROUND), at + AROUND));
  throw new Error(
    `byte ${String(at)} of ${String(expected.length)} differs (got ${String(actual.length)} bytes):\n  sent ${around(expected)}\n  got  ${around(actual)}`,
  );
}
