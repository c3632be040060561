import { beforeAll, describe, expect, it } from 'vitest';
import { openSession, textOf } from '../../harness/clients/raw.ts';
import { sdkV1 } from '../../harness/clients/sdk-v1.ts';
import { eventually } from '../../harness/poll.ts';
import { blockScope } from '../../harness/scope.ts';
import { runWorkloadScenario } from '../../harness/management/workload-scenario.ts';
import { VERSION } from '../../../operator/cli/version.ts';
import { backendImage, connectCluster, OPERATOR_NAMESPACE } from '../harness/cluster.ts';

const cluster = connectCluster();
const NAMESPACE = 'managed';
const SERVER = {
  image: backendImage(VERSION),
  transport: 'streamable-http',
  target_port: 8080,
  cmd_arguments: ['sdk-1-stateful', 'web'],
};
const VALUES = [
  'management.enabled=true',
  'management.auth.type=kubernetes',
  `management.auth.serviceAccount=${NAMESPACE}:client`,
  `management.namespaces={${NAMESPACE}}`,
];

describe('the management Deployment', () => {
  const scope = blockScope();
  let base = '';
  let token = '';

  const accountToken = async (account: string, audience: string): Promise<string> =>
    (
      await cluster.kubectl(['-n', NAMESPACE, 'create', 'token', account, `--audience=${audience}`, '--duration=1h'])
    ).trim();
  const send = (method: string, path: string, body?: unknown, bearer = token): Promise<Response> =>
    fetch(`${base}/api/v1beta${path}`, {
      method,
      headers: { authorization: `Bearer ${bearer}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const statusOf = async (name: string): Promise<{ status?: string; status_context?: string }> =>
    (await (await send('GET', `/workloads/${name}/status`)).json()) as { status?: string; status_context?: string };
  const becomes = (name: string, status: string): Promise<unknown> =>
    eventually(
      `${name} is ${status}`,
      async () => {
        const found = await statusOf(name);
        if (found.status !== status) throw new Error(JSON.stringify(found));
        return true;
      },
      { timeoutMs: 90_000, intervalMs: 500 },
    );
  /** Replaces the name of a Service, which only pods resolve, by its address. */
  const reachable = async (url: string): Promise<string> => {
    const { hostname, pathname } = new URL(url);
    return (await cluster.serviceUrl(NAMESPACE, hostname.split('.')[0] ?? '')) + pathname;
  };

  beforeAll(async () => {
    await cluster.namespace(scope, NAMESPACE);
    await cluster.apply(
      NAMESPACE,
      ['client', 'other'].map((name) => ({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } })),
    );
    scope.defer(() => cluster.installCharts());
    await cluster.installCharts(VALUES);
    base = await cluster.serviceUrl(OPERATOR_NAMESPACE, 'vmcp-management');
    token = await accountToken('client', 'vmcp');
    await eventually('it answers', async () => (await send('GET', '/workloads')).status === 200);
  });

  it('accepts tokens of its account for its audience only', async () => {
    const anonymous = await fetch(`${base}/api/v1beta/workloads`);
    expect(anonymous.status).toBe(401);
    expect(anonymous.headers.get('www-authenticate')).toMatch(/^Bearer /u);
    const strangers = [await accountToken('other', 'vmcp'), await accountToken('client', 'elsewhere'), 'nonsense'];
    for (const stranger of strangers) {
      const { status } = await send('GET', '/workloads', undefined, stranger);
      expect([401, 403]).toContain(status);
    }
  });

  it('goes through the scenario that local mode goes through, with a real client', async () => {
    const callTool = async (url: string): Promise<void> => {
      const { outcomes } = await sdkV1({ transport: 'streamable-http', url: await reachable(url) }, [
        { op: 'call', name: 'echo', args: { text: 'managed' } },
      ]);
      expect(JSON.stringify(outcomes)).toContain('managed');
    };
    const titles = await runWorkloadScenario({ base, token, server: SERVER, callTool });
    expect(titles.filter((title) => title === 'a client calls a tool')).toHaveLength(5);
  });

  it('runs a stdio server, and shows and follows its output', async () => {
    const stdio = { name: 'desk', image: SERVER.image, cmd_arguments: ['stdio-sdk-1', 'desk'] };
    expect((await send('POST', '/workloads', stdio)).status).toBe(201);
    const web = { ...SERVER, name: 'web' };
    expect((await send('POST', '/workloads', web)).status).toBe(201);
    await becomes('desk', 'running');
    await becomes('web', 'running');
    const url = `${await cluster.serviceUrl(NAMESPACE, 'mcp-desk')}/mcp`;
    await eventually('a tool answers', async () =>
      textOf(await (await openSession(url)).call('echo', { text: 'over stdio' })).includes('over stdio'),
    );
    const logs = await send('GET', '/workloads/web/logs');
    expect([logs.status, await logs.text()]).toEqual([200, expect.stringContaining('listens on')]);
    const proxy = await send('GET', '/workloads/desk/proxy-logs');
    expect([proxy.status, (await proxy.text()).length > 0]).toEqual([200, true]);
    const followed = await send('GET', '/workloads/web/logs?follow=true');
    const first = await followed.body?.getReader().read();
    expect(new TextDecoder().decode(first?.value as Uint8Array)).toContain('listens on');
    expect((await send('POST', '/workloads/delete', { names: ['desk', 'web'] })).status).toBe(202);
  });

  it('reports why a workload does not start, and an edit repairs it', async () => {
    expect((await send('POST', '/workloads', { ...SERVER, name: 'broken', image: 'localhost/absent:1' })).status).toBe(
      201,
    );
    await becomes('broken', 'error');
    expect((await statusOf('broken')).status_context).toMatch(/Image/u);
    expect((await send('POST', '/workloads/broken/edit', { image: SERVER.image })).status).toBe(200);
    await becomes('broken', 'running');
    expect((await send('DELETE', '/workloads/broken')).status).toBe(202);
  });
});
