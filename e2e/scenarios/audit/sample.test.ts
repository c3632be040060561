import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startGatewayOver } from '../../harness/authenticated-gateway.ts';
import { startHttpBackend } from '../../harness/backends/http.ts';
import { MCP_HEADERS, raw, rpc } from '../../harness/clients/raw.ts';
import { startIssuer } from '../../harness/issuer.ts';
import { testScope } from '../../harness/scope.ts';
import { root } from '../../harness/vmcp.ts';
import { capturedEvents, eventsIn } from './lines.ts';

/** Texts that differ from event to event, by their form. */
const FORMS: readonly (readonly [name: string, form: RegExp])[] = [
  ['time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u],
  ['uuid', /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u],
  ['request id', /^[0-9a-f]{8}-\d+$/u],
  ['issuer', /^https?:\/\/[^/]+$/u],
];

/** Returns a text with the members of an event in their order. Values that differ from event to event stand as their form. */
const formOf = (event: unknown): string =>
  JSON.stringify(
    event,
    (key, value: unknown) => {
      if (key === 'duration_ms' || key === 'response_size') return typeof value;
      return typeof value === 'string' ? (FORMS.find(([, form]) => form.test(value))?.[0] ?? value) : value;
    },
    1,
  );

it('writes the event of a tool call as docs/audit.md shows it', async () => {
  const scope = testScope();
  const text = await readFile(join(root, 'docs', 'audit.md'), 'utf8');
  const sample: unknown = JSON.parse(/```json\n(.+?)```/su.exec(text)?.[1] ?? '');
  const issuer = await startIssuer(scope);
  const { url } = await startHttpBackend(scope, 'sdk-1-stateful', 'github');
  const captured = capturedEvents();
  const backends = [{ name: 'github', transport: 'streamable-http' as const, url }];
  const parts = { issuer, backends, audit: { component: 'desk' } };
  const gateway = await startGatewayOver(scope, parts, { stdout: captured.stdout });
  const token = issuer.token({ sub: 'ann', name: 'Ann' });
  const headers = { ...MCP_HEADERS, authorization: `Bearer ${token}`, 'user-agent': 'node' };
  const clientInfo = { name: 'claude-code', version: '2.1.0' };
  const post = (method: string, params: object, session?: string) =>
    raw(gateway.url, {
      method: 'POST',
      headers: { ...headers, ...(session !== undefined && { 'mcp-session-id': session }) },
      body: rpc(method, params),
    });
  const opened = await post('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  await post(
    'tools/call',
    { name: 'github_echo', arguments: { text: 'hi' } },
    String(opened.headers['mcp-session-id']),
  );
  const event = await captured.event('mcp_tool_call');
  expect(eventsIn(`${JSON.stringify(sample)}\n`)).toHaveLength(1);
  expect(formOf(event)).toBe(formOf(sample).replace('"github_search"', '"github_echo"'));
});
