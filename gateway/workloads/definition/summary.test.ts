import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { SCHEMA_VERSION, type RunConfig } from '../../contract/run-config/run-config.ts';
import type { Workload } from '../workloads.ts';
import { listSummaries, WorkloadSummary } from './summary.ts';

const workload = (config: Partial<RunConfig>, more: Partial<Workload> = {}): Workload => ({
  config: { schema_version: SCHEMA_VERSION, ...config },
  status: 'running',
  created_at: '2026-01-02T03:04:05Z',
  started_at: '2026-01-02T03:04:06Z',
  port: 4000,
  url: 'http://127.0.0.1:4000/mcp',
  ...more,
});

const summary = (one: Workload): WorkloadSummary | undefined => listSummaries([one], { all: true })[0];

describe('summary of a workload', () => {
  it('has only the required members when the others have no value', () => {
    const members = summary(workload({ name: 'a', image: 'npx://a', transport: 'stdio', tools_filter: [] }));
    expect(members).toEqual({
      ...{ name: 'a', package: 'npx://a', url: 'http://127.0.0.1:4000/mcp', port: 4000, transport_type: 'stdio' },
      ...{ status: 'running', created_at: '2026-01-02T03:04:05Z', started_at: '2026-01-02T03:04:06Z' },
    });
    expect(Value.Check(WorkloadSummary, members)).toBe(true);
  });

  it('has every member that has a value', () => {
    const config = {
      name: 'a',
      image: 'a:1',
      transport: 'stdio',
      proxy_mode: 'sse',
      group: 'work',
      tools_filter: ['echo'],
    };
    const state: Partial<Workload> = { status: 'error', status_context: 'port in use' };
    expect(summary(workload(config, state))).toMatchObject({
      ...{ proxy_mode: 'sse', group: 'work', tools: ['echo'], status: 'error', status_context: 'port in use' },
    });
  });

  it('names a remote server by the word remote, and has no time of its start', () => {
    const config = { name: 'a', remote_url: 'https://mcp.example/mcp', transport: 'streamable-http' };
    expect(summary(workload(config))).toMatchObject({
      ...{ package: 'remote', remote: true, started_at: '0001-01-01T00:00:00Z' },
    });
  });

  it('leaves out the labels of vmcp', () => {
    const own = { vmcp: 'true', 'vmcp-name': 'a', 'vmcp-port': '1', 'vmcp-network-isolation': 'false' };
    expect(summary(workload({ name: 'a', container_labels: own }))).not.toHaveProperty('labels');
    expect(summary(workload({ name: 'a', container_labels: { ...own, team: 'x' } }))?.labels).toEqual({ team: 'x' });
  });
});
