import { expect, it } from 'vitest';
import { Agent } from 'undici';
import { hostBackend } from '../../../../e2e/harness/backends/host.ts';
import { testScope } from '../../../../e2e/harness/scope.ts';
import { createLog } from '../../../telemetry/log.ts';
import { requestReply } from '../request-reply.ts';
import { failureOf } from '../testdata/failure-of.ts';
import { ownerOf } from '../testdata/calls.ts';
import { ModernChannel } from './modern-channel.ts';

/** Calls a tool of a backend that answers 400 with this code. */
async function callRejectedWith(code: number) {
  const backend = await hostBackend(testScope(), '/mcp', (_req, res, body) => {
    const { id } = body as { id: unknown };
    res.writeHead(400, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: 'no' } }));
    return Promise.resolve();
  });
  const agent = new Agent();
  testScope().defer(() => agent.close());
  const noticed: string[] = [];
  const channel = new ModernChannel(
    {
      url: new URL(backend.url),
      clientInfo: { name: 'test', version: '0' },
      headers: {},
      maxReplyBytes: 1_024,
      calls: agent,
      streams: agent,
      log: createLog(process.stderr, 'error'),
      onOtherEra: () => noticed.push('other era'),
    },
    { ...ownerOf('k'), onMessage: (_, { method = '' }) => void noticed.push(method) },
    { revision: '2026-07-28', capabilities: {}, serverInfo: {}, instructions: undefined, hasSession: false },
  );
  const call = { method: 'tools/call', params: Buffer.from('{"name":"t"}'), id: Buffer.from('1'), timeoutMs: 5_000 };
  const reply = requestReply((request, sink) => channel.request(request, sink), call);
  return { reply, noticed };
}

it('takes the rejection of a header for a change of the tools, and passes it on', async () => {
  const { reply, noticed } = await callRejectedWith(-32020);
  expect((await reply).toString()).toContain('"code":-32020');
  expect(noticed).toEqual(['notifications/tools/list_changed']);
});

it('takes the rejection of its revision for another era: the request was not executed', async () => {
  const { reply, noticed } = await callRejectedWith(-32022);
  expect((await failureOf(reply)).kind).toBe('session_lost');
  expect(noticed).toEqual(['other era']);
});

it('passes other errors on', async () => {
  const { reply, noticed } = await callRejectedWith(-32602);
  expect((await reply).toString()).toContain('"code":-32602');
  expect(noticed).toEqual([]);
});
