import { beforeAll, describe, expect, it } from 'vitest';
import { SESSION_TELLERS } from '../../harness/clients/index.ts';
import { openSession, textOf } from '../../harness/clients/raw.ts';
import { eventually } from '../../harness/poll.ts';
import { blockScope } from '../../harness/scope.ts';
import { VERSION } from '../../../operator/cli/version.ts';
import { backendImage, connectCluster } from '../harness/cluster.ts';
import { exampleManifests } from './example.ts';

const cluster = connectCluster();
const NAMESPACE = 'first-endpoint';

describe('the example kubernetes-anonymous', () => {
  const scope = blockScope();
  let url = '';

  beforeAll(async () => {
    await cluster.namespace(scope, NAMESPACE);
    await cluster.apply(NAMESPACE, exampleManifests('kubernetes-anonymous'));
    await cluster.condition(NAMESPACE, 'virtualmcpserver', 'demo', { type: 'Ready' });
    await cluster.condition(NAMESPACE, 'mcpserver', 'web', { type: 'Ready' });
    await cluster.condition(NAMESPACE, 'mcpserver', 'desk', { type: 'Ready' });
    url = `${await cluster.serviceUrl(NAMESPACE, 'vmcp-demo')}/mcp`;
  });

  it.each(SESSION_TELLERS)('kubernetes-anonymous: %s calls both servers through the Service', async (_name, run) => {
    await eventually('both servers are listed', async () => {
      const tools = await (await openSession(url)).tools();
      return tools.includes('web_echo') && tools.includes('desk_echo');
    });
    const { outcomes } = await run({ transport: 'streamable-http', url }, [
      { op: 'call', name: 'web_echo', args: { text: 'over HTTP' } },
      { op: 'call', name: 'desk_echo', args: { text: 'over stdio' } },
    ]);
    expect(JSON.stringify(outcomes)).toContain('over HTTP');
    expect(JSON.stringify(outcomes)).toContain('over stdio');
  });

  it('reports its backends in the status', async () => {
    await eventually(
      'both backends are ready in the status',
      async () => {
        const found = await cluster.get(NAMESPACE, 'virtualmcpserver', 'demo');
        const backends = (found?.status?.['discoveredBackends'] ?? []) as { name: string; status: string }[];
        return (
          found?.status?.['backendCount'] === 2 &&
          backends.every(({ status }) => status === 'ready') &&
          backends.map(({ name }) => name).join() === 'desk,web'
        );
      },
      { timeoutMs: 60_000 },
    );
  });

  it('adds a new member to the running gateway within seconds, without a new pod', async () => {
    const session = await openSession(url);
    const pods = () =>
      cluster.kubectl(['-n', NAMESPACE, 'get', 'pods', '-l', 'app.kubernetes.io/instance=demo', '-o', 'name']);
    await cluster.kubectl(['-n', NAMESPACE, 'rollout', 'status', 'deployment/vmcp-demo', '--timeout=120s']);
    const before = await pods();
    await cluster.apply(NAMESPACE, [
      {
        apiVersion: 'vmcp.dev/v1alpha1',
        kind: 'MCPServer',
        metadata: { name: 'late' },
        spec: {
          groupRef: { name: 'demo' },
          image: backendImage(VERSION),
          transport: 'streamable-http',
          args: ['sdk-1-stateless', 'late'],
        },
      },
    ]);
    await eventually('the tools of the new member', async () => (await session.tools()).includes('late_echo'), {
      timeoutMs: 60_000,
    });
    expect(textOf(await session.call('late_echo', { text: 'here' }))).toContain('here');
    expect(await pods()).toBe(before);
    await cluster.kubectl(['-n', NAMESPACE, 'delete', 'mcpserver', 'late', '--wait=false']);
    await eventually('its tools go', async () => !(await session.tools()).includes('late_echo'));
  });

  it('restarts a stdio server that has ended', async () => {
    const session = await openSession(url);
    await session.call('desk_crash', {}).catch(() => undefined);
    await eventually(
      'the stdio server answers again',
      async () => textOf(await (await openSession(url)).call('desk_echo', { text: 'again' })).includes('again'),
      { timeoutMs: 60_000, intervalMs: 500 },
    );
  });
});
