import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import { withRestart } from './restart.ts';

const owner = (annotations?: Record<string, string>): KubeObject => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPServer',
  metadata: { name: 'x', ...(annotations && { annotations }) },
});
const objects: KubeObject[] = ['Service', 'Deployment', 'StatefulSet'].map((kind) => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'mcp-x' },
  spec: {
    replicas: 1,
    template: { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } }, spec: { containers: [] } },
  },
}));
const annotationsOf = (each: KubeObject) =>
  (each['spec'] as { template: { metadata: { annotations: object } } }).template.metadata.annotations;

describe('withRestart', () => {
  it('changes nothing without the annotation', () => {
    expect(withRestart(owner(), objects)).toBe(objects);
    expect(withRestart(owner({ other: 'x' }), objects)).toBe(objects);
  });

  it('adds the annotation to the pod templates of workloads and keeps the others', () => {
    const [service, ...workloads] = withRestart(owner({ 'mcpserver.vmcp.dev/restarted-at': '2026-01-01' }), objects);
    expect(service).toBe(objects[0]);
    for (const workload of workloads) {
      expect(annotationsOf(workload)).toEqual({ c: 'd', 'vmcp.dev/restarted-at': '2026-01-01' });
      expect(workload).toMatchObject({ spec: { replicas: 1, template: { metadata: { labels: { a: 'b' } } } } });
    }
    expect(annotationsOf(objects[1]!)).toEqual({ c: 'd' });
  });

  it('uses the newer value of the two annotations', () => {
    const both = { 'vmcp.dev/restarted-at': '2026-02-01', 'mcpserver.vmcp.dev/restarted-at': '2026-01-01' };
    expect(annotationsOf(withRestart(owner(both), objects)[1]!)).toMatchObject({
      'vmcp.dev/restarted-at': '2026-02-01',
    });
  });
});
