import { describe, expect, it } from 'vitest';
import { restartPatch, startPatch, stopPatch } from './cluster-workloads.ts';
import { stateOf, workloadOf } from './state-of-object.ts';
import type { Condition, EntryObject, ServerObject, WorkloadObject } from './workload-object.ts';

interface Parts {
  readonly spec?: Partial<ServerObject['spec']>;
  readonly status?: ServerObject['status'];
  readonly metadata?: Partial<ServerObject['metadata']>;
}

const CREATED = '2026-01-01T00:00:00Z';
const LATER = '2026-01-02T00:00:00Z';

const server = ({ spec, status, metadata }: Parts): ServerObject => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPServer',
  metadata: { name: 'time', namespace: 'team', generation: 3, creationTimestamp: CREATED, ...metadata },
  spec: { image: 'a', ...spec },
  ...(status && { status: { observedGeneration: 3, ...status } }),
});

const ready = (status: 'True' | 'False', message = ''): Condition[] => [
  { type: 'Ready', status, reason: 'Ready', message, lastTransitionTime: LATER },
];

describe('the state of an MCPServer', () => {
  it.each<[string, Parts, string]>([
    ['without a status', {}, 'starting'],
    [
      'with an older status',
      { status: { phase: 'Ready', observedGeneration: 2, conditions: ready('True') } },
      'starting',
    ],
    ['Pending', { status: { phase: 'Pending', message: 'no pods' } }, 'starting'],
    ['Ready', { status: { phase: 'Ready', conditions: ready('True') } }, 'running'],
    ['Ready without ready pods', { status: { phase: 'Ready', conditions: ready('False', 'none') } }, 'unhealthy'],
    ['Failed', { status: { phase: 'Failed', message: 'ImagePullBackOff' } }, 'error'],
    ['Terminating', { status: { phase: 'Terminating' } }, 'removing'],
    ['of another version', { status: { phase: 'Dreaming' } }, 'unknown'],
    ['being deleted', { metadata: { deletionTimestamp: LATER }, status: { phase: 'Ready' } }, 'removing'],
    ['scaled to 0', { spec: { replicas: 0 }, status: { phase: 'Stopped', readyReplicas: 0 } }, 'stopped'],
    ['scaled to 0 by the backends', { spec: { backendReplicas: 0 }, status: { phase: 'Stopped' } }, 'stopped'],
    ['with its last pods', { spec: { replicas: 0 }, status: { phase: 'Ready', readyReplicas: 1 } }, 'stopping'],
    ['scaled up again', { spec: { replicas: 1 }, status: { phase: 'Stopped' } }, 'starting'],
  ])('%s is as expected', (_name, parts, expected) => {
    expect(stateOf(server(parts)).status).toBe(expected);
  });

  it('has the message of the operator as its context, except when it runs', () => {
    expect(stateOf(server({ status: { phase: 'Failed', message: 'ImagePullBackOff: no such image' } }))).toEqual({
      status: 'error',
      status_context: 'ImagePullBackOff: no such image',
    });
    const running = server({ status: { phase: 'Ready', message: '1 of 1 pods are ready', conditions: ready('True') } });
    expect(stateOf(running)).toEqual({ status: 'running' });
  });

  it('has the URL of the status, the port of the Service and the times of its start', () => {
    const url = 'http://mcp-time.team.svc.cluster.local:9000/mcp';
    const status = { phase: 'Ready', url, conditions: ready('True') };
    expect(workloadOf(server({ spec: { proxyPort: 9000 }, status }))).toMatchObject({
      url,
      port: 9000,
      created_at: CREATED,
      started_at: LATER,
    });
    const restarted = { annotations: { 'mcpserver.vmcp.dev/restarted-at': '2026-01-03T00:00:00.000Z' } };
    expect(workloadOf(server({ metadata: restarted, status })).started_at).toBe('2026-01-03T00:00:00.000Z');
    expect(workloadOf(server({})).started_at).toBe('0001-01-01T00:00:00Z');
    const conditions = status.conditions.map((condition) => ({ ...condition, reason: 'ScaledToZero' }));
    const stopped = { ...status, phase: 'Stopped', conditions };
    expect(workloadOf(server({ spec: { replicas: 0 }, status: stopped })).started_at).toBe('0001-01-01T00:00:00Z');
  });
});

it.each([
  ['Valid', 'running'],
  ['Pending', 'starting'],
  ['Failed', 'error'],
])('an MCPServerEntry in phase %s is %s', (phase, expected) => {
  const entry: EntryObject = {
    apiVersion: 'vmcp.dev/v1alpha1',
    kind: 'MCPServerEntry',
    metadata: { name: 'far', namespace: 'team', generation: 1 },
    spec: { groupRef: { name: 'team' }, remoteUrl: 'https://mcp.example.com/mcp?a=1', transport: 'sse' },
    status: { phase, observedGeneration: 1 },
  };
  expect(workloadOf(entry)).toMatchObject({
    status: expected,
    port: 443,
    url: 'https://mcp.example.com/mcp?a=1',
    started_at: '0001-01-01T00:00:00Z',
  });
});

describe('stop and start', () => {
  /** Applies a merge patch to the annotations and the spec. */
  const patched = (object: ServerObject, patch: object | undefined): WorkloadObject => {
    const { metadata = {}, spec = {} } = (patch ?? {}) as { metadata?: { annotations?: object }; spec?: object };
    const merged = (before: object, after: object): object =>
      Object.fromEntries(Object.entries({ ...before, ...after }).filter(([, value]) => value !== null));
    const annotations = merged(object.metadata.annotations ?? {}, metadata.annotations ?? {}) as Record<string, string>;
    return { ...object, metadata: { ...object.metadata, annotations }, spec: merged(object.spec, spec) as never };
  };

  it.each([undefined, 1, 3])('keep %s replicas', (replicas) => {
    const running = server({ spec: replicas === undefined ? {} : { replicas } });
    const stopped = patched(running, stopPatch(running)) as ServerObject;
    expect(stopped.spec.replicas).toBe(0);
    expect(stopPatch(stopped)).toBeUndefined();
    const started = patched(stopped, startPatch(stopped)) as ServerObject;
    expect([started.spec, started.metadata.annotations]).toEqual([running.spec, {}]);
    expect(startPatch(started)).toBeUndefined();
  });

  it('start one pod where nobody knows the previous number', () => {
    expect(startPatch(server({ spec: { replicas: 0 } }))).toMatchObject({ spec: { replicas: 1 } });
    const strange = { annotations: { 'management.vmcp.dev/replicas-before-stop': 'many' } };
    expect(startPatch(server({ spec: { replicas: 0 }, metadata: strange }))).toMatchObject({ spec: { replicas: 1 } });
  });

  it('restart annotates the server, and starts a stopped one', () => {
    const annotations = { 'mcpserver.vmcp.dev/restarted-at': LATER };
    expect(restartPatch(server({}), LATER)).toEqual({ metadata: { annotations } });
    expect(restartPatch(server({ spec: { replicas: 0 } }), LATER)).toMatchObject({
      metadata: { annotations },
      spec: { replicas: 1 },
    });
  });
});
