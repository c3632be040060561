import { expect, it } from 'vitest';
import { openSession } from '../harness/clients/raw.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { testScope } from '../harness/scope.ts';
import { startVmcp } from '../harness/vmcp.ts';
import { startRawHttp } from './http-backend.ts';

/** RFC 9110 §8.3.1: types and parameter names are case-insensitive, and white space may surround the semicolon. */
it.each([
  ['json', 'Application/JSON ; Charset=UTF-8'],
  ['events', 'Text/Event-Stream;Charset="utf-8"'],
] as const)('a backend may write %s as %s', async (format, contentType) => {
  const scope = testScope();
  const backend = await startRawHttp(scope, 'raw', { format, sessions: true, contentType });
  const { url } = await startVmcp(scope, { files: gatewayOver([entry('raw', backend.url)]) });
  const session = await openSession(url);
  expect(await session.call('raw_content-text')).toMatchObject({ result: { content: [{ type: 'text', text: 'ok' }] } });
});
