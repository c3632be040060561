import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { verifySignature } from '../../../../examples/backends/signature-v4.ts';
import { eventually } from '../../../../e2e/harness/poll.ts';
import { requestSigner } from '../../../outgoing/cloud-sts/signer.ts';
import { SIGN, type CredentialHeaders } from '../../../outgoing/authenticator.ts';
import { createLog } from '../../../telemetry/log.ts';
import { callTool, ownerOf, startCall, toolParams } from '../testdata/calls.ts';
import { httpTransport } from './http-transport.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);

const credentialOf = (user: string): CredentialHeaders => ({
  [SIGN]: requestSigner(
    { accessKeyId: user, secretAccessKey: `${user}-secret`, sessionToken: `${user}-session`, expiresAt: NOW },
    { region: 'eu-west-1', service: 'aws-mcp' },
    () => NOW,
  ),
});

/** A backend that verifies the signature of each request from its raw bytes, and an open channel to it. */
async function open() {
  const seen: string[] = [];
  const server = createServer((req, res) => {
    void buffer(req).then((body) => {
      const { method = '', url: target = '', headers } = req;
      const { id, method: rpc = '' } = (body.length > 0 ? JSON.parse(body.toString()) : {}) as Record<string, string>;
      try {
        const { accessKeyId } = verifySignature({ method, target, headers, body }, (key) => `${key}-secret`);
        expect(headers['x-amz-security-token']).toBe(`${accessKeyId}-session`);
        expect(headers['x-key']).toBe('of the gateway');
        seen.push(`${method} ${rpc} ${accessKeyId}`);
      } catch (error) {
        seen.push(`${method} ${rpc} ${String(error)}`);
        return res.writeHead(403).end();
      }
      if (method === 'GET') {
        res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        return;
      }
      if (id === undefined) return res.writeHead(202).end();
      const serverInfo = { name: 'signed', version: '1' };
      const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo, content: [] };
      const type = { 'content-type': 'application/json', 'mcp-session-id': 'the session' };
      return res.writeHead(200, type).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const transport = httpTransport({
    url: new URL(`http://127.0.0.1:${String(port)}/mcp/a%20b?b=2&a=1`),
    clientInfo: { name: 'test', version: '0' },
    headers: { 'x-key': 'of the gateway', authorization: 'is replaced' },
    maxReplyBytes: 1_000_000,
    initTimeoutMs: 5_000,
    log: createLog(process.stderr, 'error'),
  });
  onTestFinished(async () => {
    await transport.close();
    server.closeAllConnections();
    server.close();
  });
  const owner = ownerOf('k', { authorize: () => credentialOf('ann') });
  const channel = await transport.open(owner, AbortSignal.timeout(10_000));
  return { channel, seen };
}

it('signs the handshake, calls of any size, notifications, the stream and the end of the session', async () => {
  const { channel, seen } = await open();
  const calls = [{}, { text: 'ü'.repeat(200) }, { text: 'x'.repeat(300_000) }];
  for (const args of calls) {
    const request = { method: 'tools/call', params: toolParams('tool', args), credential: credentialOf('bob') };
    expect((await startCall(channel, request).outcome).failure).toBeUndefined();
  }
  channel.send(Buffer.from('{"jsonrpc":"2.0","method":"notifications/progress"}'));
  channel.listen();
  await eventually('a signed GET', () => seen.includes('GET  ann'));
  await channel.close();
  expect(seen.toSorted()).toEqual(
    [
      'POST initialize ann',
      'POST notifications/initialized ann',
      ...calls.map(() => 'POST tools/call bob'),
      'POST notifications/progress ann',
      'GET  ann',
      'DELETE  ann',
    ].toSorted(),
  );
});

it('does not send a call whose signature fails, or that is cancelled before it is signed', async () => {
  const { channel, seen } = await open();
  const before = seen.length;
  const broken: CredentialHeaders = { [SIGN]: () => Promise.reject(new Error('no key')) };
  const failed = await startCall(channel, { method: 'tools/call', credential: broken }).outcome;
  expect(failed.failure).toMatchObject({ kind: 'unavailable', detail: expect.stringContaining('no key') as string });
  const { handle, outcome } = startCall(channel, { method: 'tools/call', credential: credentialOf('bob') });
  handle.cancel('not needed');
  expect((await outcome).failure).toMatchObject({ kind: 'cancelled' });
  await eventually('the end of the call', () => seen.includes('POST notifications/cancelled ann'));
  expect(seen.slice(before).filter((each) => each.includes('tools/call'))).toEqual([]);
});

it('is rejected by the backend without a signature', async () => {
  const { channel } = await open();
  expect((await callTool(channel, 'tool')).failure).toMatchObject({ kind: 'unauthenticated', status: 403 });
});
