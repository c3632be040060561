import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../../gateway/audit/event.ts';
import type { AuditConfig, AuditEventType } from '../../../gateway/contract/run-config/audit.ts';
import { startGatewayOver, type GatewayParts } from '../../harness/authenticated-gateway.ts';
import { greetingUri } from '../../harness/backends/fixture.ts';
import { startHttpBackend } from '../../harness/backends/http.ts';
import { MCP_HEADERS, raw } from '../../harness/clients/raw.ts';
import { connectV1 } from '../../harness/clients/sdk-v1.ts';
import { startIssuer } from '../../harness/issuer.ts';
import { testScope } from '../../harness/scope.ts';
import { send } from '../modern/testdata/modern-request.ts';
import { capturedEvents } from './lines.ts';

const CANARY = 'canary-5d1e77';

/** Starts a gateway over one backend, with its audit log on a captured standard output. */
async function start(audit: AuditConfig = {}, parts: Partial<GatewayParts> = {}) {
  const scope = testScope();
  const backend = await startHttpBackend(scope, 'sdk-1-stateful', 'docs');
  const backends = [
    {
      name: 'docs',
      transport: 'streamable-http' as const,
      url: backend.url,
      insecure_allow_http: true,
      allow_private_ips: true,
    },
  ];
  const captured = capturedEvents();
  const gateway = await startGatewayOver(scope, { backends, audit, ...parts }, { stdout: captured.stdout });
  return { scope, ...captured, ...gateway };
}

type Act = (client: Client) => Promise<unknown>;
const echo: Act = (client) => client.callTool({ name: 'docs_echo', arguments: { text: CANARY } });
const failed =
  (act: Act): Act =>
  (client) =>
    act(client).catch(() => undefined);

describe('an audit log', () => {
  it.each<readonly [AuditEventType, Act, AuditEvent['target']]>([
    ['mcp_tool_call', echo, { method: 'tools/call', type: 'tool', name: 'docs_echo' }],
    ['mcp_tools_list', (client) => client.listTools(), { method: 'tools/list' }],
    ['mcp_resources_list', (client) => client.listResources(), { method: 'resources/list' }],
    [
      'mcp_resource_read',
      (client) => client.readResource({ uri: greetingUri('docs') }),
      { method: 'resources/read', type: 'resource', name: greetingUri('docs') },
    ],
    ['mcp_prompts_list', (client) => client.listPrompts(), { method: 'prompts/list' }],
    [
      'mcp_prompt_get',
      failed((client) => client.getPrompt({ name: 'docs_none' })),
      { method: 'prompts/get', type: 'prompt', name: 'docs_none' },
    ],
    ['mcp_ping', (client) => client.ping(), { method: 'ping' }],
    ['mcp_logging', (client) => client.setLoggingLevel('error'), { method: 'logging/setLevel' }],
    [
      'mcp_completion',
      failed((client) =>
        client.complete({ ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: 'b' } }),
      ),
      { method: 'completion/complete', name: 'p' },
    ],
    [
      'mcp_notification',
      (client) => client.notification({ method: 'notifications/cancelled', params: { requestId: 99 } }),
      { method: 'notifications/cancelled' },
    ],
    [
      'mcp_roots_list_changed',
      (client) =>
        client.transport?.send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' }) ??
        Promise.reject(new Error('the client is not connected')),
      { method: 'notifications/roots/list_changed' },
    ],
    [
      'mcp_request',
      failed((client) =>
        client.request({ method: 'resources/subscribe', params: { uri: greetingUri('docs') } }, SubscribeRequestSchema),
      ),
      { method: 'resources/subscribe', type: 'resource', name: greetingUri('docs') },
    ],
  ])('has an event %s', async (type, act, target) => {
    const { url, event } = await start();
    const { client, sessionId, close } = await connectV1({ transport: 'streamable-http', url });
    await act(client);
    const { source, subjects, metadata, ...found } = await event(type, (one) => one.target.method === target.method);
    expect(found).toMatchObject({
      level: 'AUDIT',
      msg: 'audit_event',
      component: 'under-test',
      target: { endpoint: '/mcp', ...target },
    });
    expect(source).toEqual({
      type: 'network',
      value: '127.0.0.1',
      extra: { request_id: expect.any(String) as string, user_agent: 'node', session_id: sessionId() },
    });
    expect(subjects).toEqual({ user: 'anonymous', client_name: 'e2e-sdk-1', client_version: '1.0.0' });
    expect(metadata.extra).toMatchObject({ transport: 'streamable-http', revision: '2025-11-25' });
    expect(metadata.extra.duration_ms).toBeGreaterThanOrEqual(0);
    await close();
  });

  it('follows a session from its beginning to its end', async () => {
    const { url, event, events } = await start();
    const { client, sessionId, close } = await connectV1({ transport: 'streamable-http', url });
    await client.listTools();
    await event('sse_connection');
    const id = sessionId();
    await close();
    expect(await event('vmcp_session_terminated')).toMatchObject({
      source: { type: 'internal', extra: { session_id: id } },
      subjects: { client_name: 'e2e-sdk-1' },
      metadata: { extra: { reason: 'deleted' } },
    });
    await event('mcp_request', ({ target }) => target.method === 'DELETE');
    expect(
      events()
        .map(({ type }) => type)
        .toSorted(),
    ).toEqual([
      'mcp_initialize',
      'mcp_notification',
      'mcp_request',
      'mcp_tools_list',
      'sse_connection',
      'vmcp_session_created',
      'vmcp_session_terminated',
    ]);
  });

  it('has the outcome, the backend and the size of each call', async () => {
    const { url, event } = await start();
    const { client, close } = await connectV1({ transport: 'streamable-http', url });
    await echo(client);
    expect(await event('mcp_tool_call')).toMatchObject({
      outcome: 'success',
      metadata: { extra: { backend_name: 'docs', status: 200 } },
    });
    await client.callTool({ name: 'docs_failing', arguments: {} });
    await event(
      'mcp_tool_call',
      ({ target, outcome }) => target.name === 'docs_failing' && outcome === 'application_error',
    );
    await failed((each) => each.callTool({ name: 'docs_none' }))(client);
    const unknown = await event('mcp_tool_call', ({ target }) => target.name === 'docs_none');
    expect(unknown).toMatchObject({
      outcome: 'application_error',
      metadata: { extra: { jsonrpc_error_code: -32602 } },
    });
    expect(unknown.metadata.extra).not.toHaveProperty('backend_name');
    await failed((each) => each.getPrompt({ name: 'docs_greet' }))(client);
    expect(await event('mcp_prompt_get')).toMatchObject({
      outcome: 'application_error',
      metadata: { extra: { backend_name: 'docs', jsonrpc_error_code: -32602 } },
    });
    const abort = new AbortController();
    const slow = client.callTool({ name: 'docs_slow', arguments: { ms: 5_000 } }, undefined, { signal: abort.signal });
    setTimeout(() => {
      abort.abort('enough');
    }, 100);
    await slow.catch(() => undefined);
    await event(
      'mcp_tool_call',
      ({ target, metadata }) => target.name === 'docs_slow' && metadata.extra.reason === 'cancelled',
    );
    await close();
  });

  it('has the calls of clients of 2024-11-05', async () => {
    const { url, event, events } = await start();
    const { client, close } = await connectV1({ transport: 'sse', url: url.replace('/mcp', '/sse') });
    await echo(client);
    expect(await event('mcp_tool_call')).toMatchObject({
      outcome: 'success',
      target: { endpoint: '/messages' },
      metadata: { extra: { transport: 'sse', backend_name: 'docs' } },
    });
    await close();
    expect(await event('vmcp_session_terminated')).toMatchObject({ metadata: { extra: { reason: 'stream_closed' } } });
    expect(events().filter(({ type }) => type === 'sse_connection')).toHaveLength(1);
  });

  it('has contents only if they are included, and never a secret in them', async () => {
    const plain = await start();
    const quiet = await connectV1({ transport: 'streamable-http', url: plain.url });
    await echo(quiet.client);
    await plain.event('mcp_tool_call');
    await quiet.close();
    expect(plain.text()).not.toContain(CANARY);
    const full = await start({ includeRequestData: true, includeResponseData: true, maxDataSize: 200 });
    const { client, close } = await connectV1({ transport: 'streamable-http', url: full.url });
    await client.callTool({ name: 'docs_echo', arguments: { text: 'hello', nested: { api_key: CANARY } } });
    expect((await full.event('mcp_tool_call')).data).toEqual({
      request: { name: 'docs_echo', arguments: { text: 'hello', nested: { api_key: '[redacted]' } } },
      response: { content: [{ type: 'text', text: expect.stringContaining('hello') as string }] },
    });
    await client.callTool({ name: 'docs_echo', arguments: { text: `${'é'.repeat(300)} Bearer ${CANARY}` } });
    const cut = await full.event('mcp_tool_call', ({ data }) => data?.truncated !== undefined);
    expect(cut.data).toMatchObject({
      truncated: ['request', 'response'],
      request: expect.stringMatching(/^\{"name":"docs_echo","arguments":\{"text":"é+$/u) as string,
    });
    expect(Buffer.byteLength(String(cut.data?.request))).toBeLessThanOrEqual(200);
    await close();
    expect(full.text()).not.toContain(CANARY);
  });

  it('has the revision and the client of requests of 2026-07-28, which have no session', async () => {
    const { url, event } = await start();
    const client = { 'io.modelcontextprotocol/clientInfo': { name: 'desk', version: '3.1' } };
    const from = (id: number) => ({ _meta: { ...client, progressToken: id } });
    const subjects = { user: 'anonymous', client_name: 'desk', client_version: '3.1' };
    const echoed = { name: 'docs_echo', arguments: { text: 'hello' } };
    expect(await send(url, 'tools/call', { ...echoed, ...from(1) })).toMatchObject({ status: 200 });
    const call = await event('mcp_tool_call', ({ outcome }) => outcome === 'success');
    expect(call).toMatchObject({ subjects, metadata: { extra: { revision: '2026-07-28', backend_name: 'docs' } } });
    expect(call.subjects).toEqual(subjects);
    expect(call.source.extra).not.toHaveProperty('session_id');
    await send(url, 'tools/list', from(2));
    expect(await event('mcp_tools_list')).toMatchObject({ subjects, metadata: { extra: { revision: '2026-07-28' } } });
    await send(url, 'server/discover', from(3));
    const discovered = await event('mcp_request', ({ target }) => target.method === 'server/discover');
    expect(discovered).toMatchObject({ subjects, metadata: { extra: { revision: '2026-07-28' } } });
    const mismatch = { headers: { 'mcp-name': 'docs_other' } };
    expect(await send(url, 'tools/call', { ...echoed, ...from(4) }, mismatch)).toMatchObject({ status: 400 });
    const refused = await event('mcp_tool_call', ({ metadata }) => metadata.extra.status === 400);
    expect(refused).toMatchObject({ outcome: 'failure', subjects, metadata: { extra: { revision: '2026-07-28' } } });
    const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    const headers = { ...MCP_HEADERS, 'mcp-protocol-version': '2026-07-28' };
    await raw(url, { method: 'POST', headers, body: JSON.stringify(message) });
    expect(await event('mcp_notification')).toMatchObject({ metadata: { extra: { revision: '2026-07-28' } } });
  });

  it('has the client of each of several that share a token', async () => {
    const issuer = await startIssuer(testScope());
    const { url, event } = await start({}, { issuer });
    const headers = { authorization: `Bearer ${issuer.token({ sub: 'ann', name: 'Ann' })}` };
    for (const name of ['one', 'two', 'one']) {
      const _meta = { 'io.modelcontextprotocol/clientInfo': { name, version: '1' } };
      await send(url, 'prompts/get', { name, _meta }, { headers });
      const found = await event('mcp_prompt_get', ({ target }) => target.name === name);
      expect(found.subjects).toMatchObject({ user: 'Ann', user_id: 'ann', client_name: name, client_version: '1' });
    }
    await send(url, 'prompts/get', { name: 'three' }, { headers });
    const unnamed = await event('mcp_prompt_get', ({ target }) => target.name === 'three');
    expect(unnamed.subjects).toEqual({ user: 'Ann', user_id: 'ann', issuer: issuer.url });
  });

  it('has requests that were denied before a session exists', async () => {
    const scope = testScope();
    const issuer = await startIssuer(scope);
    const { url, event, text } = await start({}, { issuer });
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    const refused = await raw(url, {
      method: 'POST',
      headers: { ...MCP_HEADERS, authorization: `Bearer ${CANARY}` },
      body,
    });
    expect(refused.status).toBe(401);
    expect(await event('mcp_request')).toMatchObject({
      outcome: 'denied',
      source: { extra: { request_id: refused.headers['x-request-id'] } },
      subjects: { user: 'anonymous' },
      target: { endpoint: '/mcp', method: 'POST' },
      metadata: { extra: { status: 401, reason: 'opaque' } },
    });
    expect((await raw(url, { headers: { origin: 'https://evil.example', accept: 'text/event-stream' } })).status).toBe(
      403,
    );
    expect(await event('sse_connection')).toMatchObject({
      outcome: 'denied',
      metadata: { extra: { status: 403, reason: 'origin' } },
    });
    expect((await raw(new URL(`/nothing?token=${CANARY}`, url).href)).status).toBe(401);
    expect(await event('http_request')).toMatchObject({
      outcome: 'denied',
      target: { endpoint: '/nothing', type: 'endpoint' },
    });
    expect((await raw(new URL('/health', url).href)).status).toBe(200);
    expect(text()).not.toContain(CANARY);
    expect(text()).not.toContain('/health');
  });

  it('names the user, the actors, and a session of somebody else', async () => {
    const issuer = await startIssuer(testScope());
    const { url, event } = await start({ maxDelegationDepth: 1 }, { issuer });
    const bearer = (claims: object) => ({ ...MCP_HEADERS, authorization: `Bearer ${issuer.token({ ...claims })}` });
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '2' } };
    const initialize = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    const act = { sub: 'agent', act: { sub: 'other' } };
    const opened = await raw(url, {
      method: 'POST',
      headers: bearer({ sub: 'ann', name: 'Ann', act }),
      body: initialize,
    });
    const id = String(opened.headers['mcp-session-id']);
    const subjects = { user: 'Ann', user_id: 'ann', issuer: issuer.url, client_name: 'c', client_version: '2' };
    expect(await event('vmcp_session_created')).toMatchObject({ subjects, source: { extra: { session_id: id } } });
    expect(await event('mcp_initialize')).toMatchObject({
      delegation: { chain: [{ sub: 'agent' }], truncated: true, omitted: 1 },
    });
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    const stolen = await raw(url, {
      method: 'POST',
      headers: { ...bearer({ sub: 'eve' }), 'mcp-session-id': id },
      body,
    });
    expect(stolen.status).toBe(404);
    expect(await event('vmcp_session_binding_violation')).toMatchObject({
      outcome: 'denied',
      subjects: { user_id: 'eve' },
      source: { extra: { session_id: id } },
      target: { type: 'session' },
    });
  });

  it('omits excluded types, also those that are included', async () => {
    const types = { eventTypes: ['mcp_ping', 'mcp_tools_list'], excludeEventTypes: ['mcp_ping'] };
    const { url, event, events } = await start(types);
    const { client, close } = await connectV1({ transport: 'streamable-http', url });
    await client.ping();
    await client.listTools();
    await close();
    await event('mcp_tools_list');
    expect(events().map(({ type }) => type)).toEqual(['mcp_tools_list']);
  });

  it('starts, changes and ends with the configuration', async () => {
    const { url, event, events, swap } = await start({ enabled: false });
    const { client, close } = await connectV1({ transport: 'streamable-http', url });
    await client.ping();
    expect(events()).toEqual([]);
    await swap({ backends: [], audit: { component: 'other' } });
    await client.ping();
    expect(await event('mcp_ping')).toMatchObject({ component: 'other' });
    await swap({ backends: [] });
    const before = events().length;
    await client.ping();
    await close();
    expect(events()).toHaveLength(before);
  });
});
