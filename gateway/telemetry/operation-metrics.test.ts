import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { EndedCall } from './call-observer.ts';
import { bucketsOf, MCP_BOUNDS, noDurations, record } from './operation-series.ts';
import { OperationMetrics } from './operation-metrics.ts';

const SESSION = { id: 's', principal: 'p', revision: '2025-11-25', client: { name: 'c', version: '1' } };
const PEER = { transport: 'tcp', address: 'files.team', port: 8080 } as const;

const call = (change: Partial<EndedCall> = {}): EndedCall => ({
  session: SESSION,
  method: 'tools/call',
  name: 'files_read',
  originalName: 'read',
  backend: 'files',
  backendRevision: '2025-06-18',
  peer: PEER,
  outcome: 'ok',
  failure: undefined,
  errorType: undefined,
  isSent: true,
  durationMs: 3,
  ...change,
});

function metrics() {
  const registry = new Registry();
  const operations = new OperationMetrics(registry);
  const observer = operations.of('team/front');
  const lines = async (name: string): Promise<string[]> =>
    (await registry.getSingleMetricAsString(name)).split('\n').filter((line) => line.includes('_count{'));
  const pointsOf = (name: string) => operations.dataOf('team/front').find((data) => data.name === name)?.points ?? [];
  return { registry, operations, observer, lines, pointsOf };
}

describe('the metrics of operations', () => {
  it('show a call under the names of the conventions and of the backend metric', async () => {
    const { observer, lines } = metrics();
    observer.ended(call());
    expect(await lines('mcp_client_operation_duration_seconds')).toEqual([
      'mcp_client_operation_duration_seconds_count{server="team/front",mcp_method_name="tools/call",gen_ai_operation_name="execute_tool",gen_ai_tool_name="read",mcp_protocol_version="2025-06-18",vmcp_backend="files",network_transport="tcp",network_protocol_name="http",server_address="files.team",server_port="8080"} 1',
    ]);
    expect(await lines('vmcp_backend_request_duration_seconds')).toEqual([
      'vmcp_backend_request_duration_seconds_count{server="team/front",backend="files",outcome="ok"} 1',
    ]);
  });

  it('name the tool of a request on a task', async () => {
    const { observer, lines } = metrics();
    observer.ended(call({ method: 'tasks/get' }));
    expect(await lines('mcp_client_operation_duration_seconds')).toEqual([
      expect.stringContaining('mcp_method_name="tasks/get",gen_ai_tool_name="read"'),
    ]);
  });

  it('count replies with an error as replies of the backend, and failures by their kind', async () => {
    const { observer, lines, pointsOf } = metrics();
    for (const errorType of [undefined, 'tool_error', '-32602']) observer.ended(call({ errorType }));
    observer.ended(call({ failure: 'timeout', errorType: 'timeout' }));
    expect(await lines('vmcp_backend_request_duration_seconds')).toEqual([
      expect.stringMatching(/outcome="ok"\} 3$/u),
      expect.stringMatching(/outcome="timeout"\} 1$/u),
    ]);
    const errors = pointsOf('mcp.client.operation.duration').map(({ attributes }) => [
      attributes['error.type'],
      attributes['rpc.response.status_code'],
    ]);
    expect(errors).toEqual([
      [undefined, undefined],
      ['tool_error', undefined],
      ['-32602', '-32602'],
      ['timeout', undefined],
    ]);
  });

  it('leave out calls that were not sent, and URIs', () => {
    const { observer, pointsOf } = metrics();
    observer.ended(call({ isSent: false, failure: 'denied', errorType: 'denied' }));
    observer.ended(call({ method: 'resources/read', name: 'file:///a', originalName: 'file:///a' }));
    expect(JSON.stringify(pointsOf('mcp.client.operation.duration'))).not.toContain('file:');
    expect(pointsOf('mcp.client.operation.duration')).toHaveLength(1);
  });

  it('show requests, sessions and sessions at backends', () => {
    const { observer, pointsOf } = metrics();
    const answered = { target: undefined, revision: '2025-11-25', errorType: undefined, durationMs: 15 };
    observer.answered?.({ ...answered, method: 'tools/list' });
    observer.answered?.({ ...answered, method: 'prompts/get', target: 'greet', errorType: '-32603' });
    observer.sessionEnded?.({ revision: '2025-11-25', durationMs: 61_000 });
    const atBackend = { backend: 'files', peer: PEER, revision: '2025-06-18', durationMs: 5 };
    observer.backendSessionEnded?.({ ...atBackend, errorType: 'session_lost' });
    const shared = { 'network.transport': 'tcp', 'network.protocol.name': 'http' };
    const ours = { ...shared, 'mcp.protocol.version': '2025-11-25' };
    expect(pointsOf('mcp.server.operation.duration').map(({ attributes }) => attributes)).toEqual([
      { ...ours, 'mcp.method.name': 'tools/list' },
      {
        ...ours,
        'mcp.method.name': 'prompts/get',
        'gen_ai.prompt.name': 'greet',
        'error.type': '-32603',
        'rpc.response.status_code': '-32603',
      },
    ]);
    expect(pointsOf('mcp.server.session.duration').map(({ attributes }) => attributes)).toEqual([ours]);
    expect(pointsOf('mcp.client.session.duration').map(({ attributes }) => attributes)).toEqual([
      {
        ...shared,
        'mcp.protocol.version': '2025-06-18',
        'error.type': 'session_lost',
        'vmcp.backend': 'files',
        'server.address': 'files.team',
        'server.port': 8080,
      },
    ]);
  });

  it('stay limited when a backend invents tools and error codes', () => {
    const { observer, pointsOf } = metrics();
    for (let n = 0; n < 5_000; n += 1)
      observer.ended(call({ originalName: `tool-${String(n)}`, errorType: String(n) }));
    const points = pointsOf('mcp.client.operation.duration');
    expect(points.length).toBeLessThan(2_100);
    expect(points.reduce((sum, { durations }) => sum + durations.count, 0)).toBe(5_000);
    expect(points.at(-1)?.attributes).toMatchObject({ 'gen_ai.tool.name': '_OTHER', 'error.type': '_OTHER' });
  });

  it('forget a server that no longer exists', async () => {
    const { operations, observer, lines } = metrics();
    observer.ended(call());
    operations.forget('team/front');
    expect(await lines('mcp_client_operation_duration_seconds')).toEqual([]);
  });
});

describe('the buckets of durations', () => {
  it.each([
    [0, 0],
    [10, 0],
    [10.5, 1],
    [15, 1],
    [25, 2],
    [250, 5],
    [2_400, 8],
    [300_000, 13],
    [300_001, 14],
  ])('%d ms is in bucket %d of the MCP metrics', (ms, bucket) => {
    const durations = noDurations();
    record(durations, ms);
    expect(bucketsOf(durations, MCP_BOUNDS).indexOf(1)).toBe(bucket);
  });
});
