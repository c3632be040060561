import { expect, it, onTestFinished } from 'vitest';
import { KubeClient } from '../../gateway/kube/client.ts';
import { ownType, type KubeObject } from '../../gateway/kube/resource.ts';
import { refuse, WatchServer } from '../../gateway/kube/testdata/watch-server.ts';
import { newSnapshot } from '../resolve/snapshot.ts';
import { Controller } from './controller.ts';
import { ManualClock } from './testdata/manual-clock.ts';

const GROUP: KubeObject = {
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPGroup',
  metadata: { namespace: 'team', name: 'g', uid: 'u', resourceVersion: '5', generation: 1 },
  spec: {},
};

/** Writes of the object under test. Others are ignored: the client of another test may still use a port that was reused. */
const writesOf = (server: WatchServer): string[] =>
  server.requests.filter(({ path }) => path.endsWith('/mcpgroups/g/status')).map(({ method }) => method);

/** Controller of groups that writes a status at every reconcile. */
async function setUp() {
  const server = new WatchServer();
  const client = new KubeClient(await server.listen());
  onTestFinished(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });
  const clock = new ManualClock();
  const controller = new Controller({
    controllers: [
      { kind: 'MCPGroup', decide: () => ({ statusOf: () => ({ status: { a: 1 }, ready: true, events: [] }) }) },
    ],
    view: {
      raw: () => GROUP,
      owned: () => [],
      snapshot: (namespace) => newSnapshot(namespace, {}),
      problemsOf: () => [],
      referrersOf: () => [],
      targetsOf: () => [],
      refsIn: () => [],
      referencesReady: () => Promise.resolve(),
      namespaceIsTerminating: () => false,
      serves: () => true,
    },
    client,
    render: {} as never,
    clock,
    log: { debug: () => undefined, warn: () => undefined },
    identity: 'vmcp-system/vmcp-operator',
    reporter: 'pod',
    protects: true,
  });
  controller.onChange(ownType('MCPGroup'), undefined, GROUP);
  return { server, clock, controller };
}

it('does not retry a write that the API server was too busy for after it lost the lead', async () => {
  const { server, controller } = await setUp();
  server.nextLists.push(refuse(429, '', { 'retry-after': '5' }));
  controller.startLeading();
  await expect.poll(() => writesOf(server).length).toBe(1);
  controller.stopLeading();
  const begun = performance.now();
  await controller.shutDown();
  expect(performance.now() - begun).toBeLessThan(4_000);
  expect(writesOf(server)).toEqual(['PATCH']);
});

it('aborts pending writes when it loses the lead, and writes again when it leads again', async () => {
  const { server, controller } = await setUp();
  server.nextLists.push(() => undefined);
  controller.startLeading();
  await expect.poll(() => writesOf(server).length).toBe(1);
  controller.stopLeading();
  controller.startLeading();
  await expect.poll(() => writesOf(server).length).toBe(2);
  await controller.shutDown();
});

it('reconciles again when a list contains an edit together with its own later write', async () => {
  const { server, clock, controller } = await setUp();
  const edited = { ...GROUP, metadata: { ...GROUP.metadata, resourceVersion: '10', generation: 2 } };
  server.nextLists.push((_request, response) => response.end(JSON.stringify(edited)));
  controller.startLeading();
  await expect.poll(() => writesOf(server).length).toBe(1);
  await expect
    .poll(async () => /reconcile_total\{[^}]*"success"\} 1/u.test(await controller.metrics.text()))
    .toBe(true);
  controller.onListed(ownType('MCPGroup'), undefined, '12');
  controller.onChange(ownType('MCPGroup'), GROUP, edited);
  clock.advance(100);
  await expect.poll(() => writesOf(server).length).toBe(2);
  await controller.shutDown();
});
