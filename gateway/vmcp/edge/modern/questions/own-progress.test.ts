import { expect, it } from 'vitest';
import { scanBackendEnvelope, scanEnvelope } from '../../../../http/json-scan.ts';
import type { Answer } from '../../../answers/answer.ts';
import { withOwnProgress } from './own-progress.ts';

/** Returns what a client gets whose request has this `_meta`, when the backend sends this notification. */
function received(meta: object | undefined, method: string, params: object): string[] {
  const got: string[] = [];
  const client = { message: (message: Buffer) => void got.push(message.toString()) } as unknown as Answer;
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { _meta: meta } }));
  const message = Buffer.from(JSON.stringify({ jsonrpc: '2.0', method, params }));
  withOwnProgress(client, body, scanEnvelope(body).params).message(message, scanBackendEnvelope(message));
  return got;
}

const PROGRESS = { progressToken: 'first', progress: 1 };

it.each<[string, object | undefined, string, object, object | undefined]>([
  [
    'has the token of the later request',
    { progressToken: 7 },
    'notifications/progress',
    PROGRESS,
    { progressToken: 7, progress: 1 },
  ],
  ['is not sent to a request without a token', {}, 'notifications/progress', PROGRESS, undefined],
  ['is not sent to a request without _meta', undefined, 'notifications/progress', PROGRESS, undefined],
  ['without a token is not sent', { progressToken: 7 }, 'notifications/progress', { progress: 1 }, undefined],
  ['of another kind stays as it is', {}, 'notifications/message', { level: 'info' }, { level: 'info' }],
])('a notification in a call that continues %s', (_, meta, method, params, expected) => {
  const sent = received(meta, method, params).map((text) => (JSON.parse(text) as { params: unknown }).params);
  expect(sent).toEqual(expected ? [expected] : []);
});
