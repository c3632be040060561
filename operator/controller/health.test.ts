import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import { healthListener } from './health.ts';
import { createMetrics } from './metrics.ts';

const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

const resource = (kind: string, name: string, status?: object): KubeObject => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind,
  metadata: { namespace: 'team', name },
  ...(status && { status }),
});
const condition = (type: string, status: string) => ({ type, status, reason: 'X', message: '' });

async function serve(resources: KubeObject[], notReady: () => string | undefined = () => undefined) {
  const metrics = createMetrics(() => resources, ['MCPServer']);
  const server = createServer(healthListener({ metrics, notReady }));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  const base = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const get = async (path: string, init?: RequestInit) => {
    const response = await fetch(base + path, init);
    return { status: response.status, text: await response.text() };
  };
  return { metrics, get };
}

describe('healthListener', () => {
  it('answers /healthz while it is not ready, and /readyz with the reason', async () => {
    let why: string | undefined = 'the caches are not filled yet';
    const { get } = await serve([], () => why);
    expect(await get('/healthz')).toEqual({ status: 200, text: 'ok\n' });
    expect(await get('/readyz')).toEqual({ status: 503, text: 'the caches are not filled yet\n' });
    why = undefined;
    expect(await get('/readyz?verbose')).toEqual({ status: 200, text: 'ok\n' });
  });

  it('rejects other paths and methods', async () => {
    const { get } = await serve([]);
    expect((await get('/')).status).toBe(404);
    expect((await get('/healthz', { method: 'POST', body: 'x' })).status).toBe(405);
  });

  it('serves metrics of the queue, of reconciles and of leadership', async () => {
    const { metrics, get } = await serve([]);
    metrics.queue.depth(3);
    metrics.queue.added();
    metrics.queue.retried();
    metrics.queue.started(250);
    metrics.reconciled('MCPServer', 'success', 0.02);
    metrics.reconciled('MCPServer', 'error', 0.2);
    metrics.leading(true);
    const { text } = await get('/metrics');
    for (const line of [
      'workqueue_depth 3',
      'workqueue_adds_total 1',
      'workqueue_retries_total 1',
      'workqueue_queue_duration_seconds_sum 0.25',
      'reconcile_total{controller="MCPServer",result="success"} 1',
      'reconcile_total{controller="MCPServer",result="error"} 1',
      'reconcile_errors_total{controller="MCPServer"} 1',
      'reconcile_duration_seconds_count{controller="MCPServer"} 2',
      'leader_election_master_status 1',
    ]) {
      expect(text.split('\n')).toContain(line);
    }
  });

  it('serves the current phase and readiness of each resource', async () => {
    const resources = [
      resource('VirtualMCPServer', 'good', {
        phase: 'Ready',
        conditions: [condition('Valid', 'True'), condition('Ready', 'True')],
      }),
      resource('VirtualMCPServer', 'bad', { phase: 'Failed', conditions: [condition('Ready', 'False')] }),
      resource('MCPOIDCConfig', 'issuer', { conditions: [condition('Valid', 'Unknown')] }),
      resource('MCPGroup', 'new'),
    ];
    const { metrics, get } = await serve(resources);
    metrics.leading(true);
    const series = async () =>
      (await get('/metrics')).text
        .split('\n')
        .filter((line) => /^(?:kube_resource_phase|vmcp_resource_ready)\{/u.test(line));
    expect(await series()).toEqual([
      'kube_resource_phase{kind="VirtualMCPServer",namespace="team",name="good",phase="Ready"} 1',
      'kube_resource_phase{kind="VirtualMCPServer",namespace="team",name="bad",phase="Failed"} 1',
      'vmcp_resource_ready{kind="VirtualMCPServer",namespace="team",name="good"} 1',
      'vmcp_resource_ready{kind="VirtualMCPServer",namespace="team",name="bad"} 0',
      'vmcp_resource_ready{kind="MCPOIDCConfig",namespace="team",name="issuer"} 0',
    ]);
    resources.length = 1;
    expect(await series()).toHaveLength(2);
    metrics.leading(false);
    expect(await series()).toEqual([]);
  });

  it('serves no readiness of a resource that is scaled to 0', async () => {
    const status = { phase: 'Pending', conditions: [condition('Ready', 'False')] };
    const { metrics, get } = await serve([
      { ...resource('MCPServer', 'stopped', { ...status, phase: 'Stopped' }), spec: {} },
      { ...resource('VirtualMCPServer', 'off', status), spec: { replicas: 0 } },
      { ...resource('VirtualMCPServer', 'on', status), spec: { replicas: 1 } },
    ]);
    metrics.leading(true);
    const ready = (await get('/metrics')).text.split('\n').filter((line) => line.startsWith('vmcp_resource_ready{'));
    expect(ready).toEqual(['vmcp_resource_ready{kind="VirtualMCPServer",namespace="team",name="on"} 0']);
  });
});
