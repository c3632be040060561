import { request as httpRequest, type ClientRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import { startGatewayOver } from '../../harness/authenticated-gateway.ts';
import { startHttpBackend } from '../../harness/backends/http.ts';
import { openSession, raw, rpc } from '../../harness/clients/raw.ts';
import { connectV1 } from '../../harness/clients/sdk-v1.ts';
import { testScope } from '../../harness/scope.ts';
import { messageOf } from '../modern/testdata/modern-request.ts';
import { capturedEvents } from './lines.ts';

/** A call that takes longer than the test. */
const SLOW = { name: 'docs_slow', arguments: { ms: 60_000 } };
const ended = (reason: string) => ({ outcome: 'failure', metadata: { extra: { status: 499, reason } } });

async function start() {
  const scope = testScope();
  const backend = await startHttpBackend(scope, 'sdk-1-stateful', 'docs');
  const reached = { insecure_allow_http: true, allow_private_ips: true };
  const backends = [{ name: 'docs', transport: 'streamable-http' as const, url: backend.url, ...reached }];
  const captured = capturedEvents();
  const { url } = await startGatewayOver(scope, { backends, audit: {} }, { stdout: captured.stdout });
  /** Waits until the backend runs the call, ends it with `end`, and returns its event. */
  const eventAfter = async (end: () => unknown) => {
    await expect.poll(() => backend.seen.some(({ method }) => method === 'tools/call')).toBe(true);
    await end();
    return captured.event('mcp_tool_call');
  };
  return { url, eventAfter, ...captured };
}

/** Sends a request whose answer nobody reads. */
function send(url: string, headers: Readonly<Record<string, string>>, body: string): ClientRequest {
  const request = httpRequest(url, { method: 'POST', headers, agent: false });
  request.on('error', () => undefined);
  request.end(body);
  return request;
}

// row 113
describe('the audit log has the status 499 of a call', () => {
  it('that its client cancels', async () => {
    const { url, eventAfter } = await start();
    const session = await openSession(url);
    const answered = session.post(rpc('tools/call', SLOW, 'mine'));
    const params = { requestId: 'mine' };
    const cancel = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    expect(await eventAfter(() => session.post(cancel))).toMatchObject(ended('cancelled'));
    await answered;
  });

  it('whose client leaves', async () => {
    const { url, eventAfter } = await start();
    const session = await openSession(url);
    const request = send(url, session.headers, rpc('tools/call', SLOW));
    expect(await eventAfter(() => request.destroy())).toMatchObject(ended('client_left'));
  });

  it('whose client of the revision without sessions leaves', async () => {
    const { url, eventAfter } = await start();
    const { headers, body } = messageOf('tools/call', SLOW, {});
    const request = send(url, headers, body);
    expect(await eventAfter(() => request.destroy())).toMatchObject(ended('client_left'));
  });

  it('whose client of 2024-11-05 cancels, or leaves', async () => {
    for (const reason of ['cancelled', 'client_left']) {
      const { url, eventAfter } = await start();
      const { client, close } = await connectV1({ transport: 'sse', url: url.replace('/mcp', '/sse') });
      const abort = new AbortController();
      const call = client.callTool(SLOW, undefined, { signal: abort.signal }).catch(() => undefined);
      const end = reason === 'cancelled' ? () => abort.abort('enough') : close;
      expect(await eventAfter(end)).toMatchObject(ended(reason));
      await call;
      await close();
    }
  });

  it('whose client leaves while it sends the request', async () => {
    const { url, event } = await start();
    const { headers } = await openSession(url);
    const request = httpRequest(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': 1_000 },
      agent: false,
    });
    request.on('error', () => undefined);
    request.write('{"jsonrpc":', () => request.destroy());
    const left = await event('mcp_request', ({ metadata }) => metadata.extra.reason === 'client_left');
    expect(left).toMatchObject(ended('client_left'));
  });
});

it('the audit log has the status of a JSON-RPC error that has one', async () => {
  const { url, event } = await start();
  const unknown = messageOf('tools/call', { name: 'docs_none' }, {});
  expect((await raw(url, unknown)).status).toBe(400);
  expect(await event('mcp_tool_call')).toMatchObject({
    outcome: 'application_error',
    metadata: { extra: { status: 400, jsonrpc_error_code: -32602 } },
  });
  const method = messageOf('tools/none', {}, {});
  expect((await raw(url, method)).status).toBe(404);
  expect(await event('mcp_request', ({ target }) => target.method === 'tools/none')).toMatchObject({
    metadata: { extra: { status: 404, jsonrpc_error_code: -32601 } },
  });
});
