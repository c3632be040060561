import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { KINDS } from '../../../crds/kinds/index.ts';
import type { KubeObject } from '../../../gateway/kube/resource.ts';
import { kstatus } from '../../../operator/status/testdata/kstatus.ts';
import { entry, group, secret, virtualServer, type Manifest } from '../../harness/manifests.ts';
import { eventually } from '../../harness/poll.ts';
import { testScope } from '../../harness/scope.ts';
import { LOOPBACK } from './condition-case.ts';
import { conditionCases } from './condition-cases.ts';
import { failPods, reportPods, runPods } from '../kubelet.ts';
import { at, statusOf, type Playground } from '../playground.ts';
import {
  authzConfig,
  CANARY,
  everySort,
  headerAuth,
  httpServer,
  oidcConfig,
  REMOTE,
  telemetryConfig,
  toolConfig,
  webhookConfig,
} from '../resources.ts';
import { sharedOperator } from '../shared.ts';
import { unobserved } from '../steady-state.ts';

const { playground } = sharedOperator();
const CASES = conditionCases(readFileSync(join(inject('controlPlane').folder, 'pki', 'ca.crt'), 'utf8'));

const HEALS_WITHIN_MS = 5_000;

// on a busy machine an event of the API server alone can take seconds: such a case has a second run
describe.concurrent('one change makes a condition wrong, another repairs it within 5 s', { retry: 1 }, () => {
  it.each(CASES.map((each) => [`${each.on[0]} ${each.type} ${each.wrong[1]}`, each] as const))(
    '%s',
    async (_, each) => {
      const { on, type, given, right, wrong, healed = right } = each;
      const here = await playground();
      const becomes = ([status, reason]: typeof right, timeoutMs?: number) =>
        here.becomes(...on, { type, status, reason }, timeoutMs);
      await here.create(...given);
      await becomes(right);
      await eventually('every object is observed', async () => (await unobserved(here)).length === 0);
      const before = await workloads(here);
      await each.breaks(here);
      const condition = await becomes(wrong);
      expect(condition.message).toContain(each.names);
      // A mistake replaces no pod. The change itself may add a workload.
      if (wrong[0] === 'False' && !each.rolls) expect(await workloads(here)).toEqual(expect.objectContaining(before));
      await each.heals(here);
      await becomes(healed, HEALS_WITHIN_MS);
    },
  );
});

/** Returns the specs of the Deployments by name. */
const workloads = async (here: Playground): Promise<object> =>
  Object.fromEntries(
    (await here.list('Deployment')).map((deployment) => [deployment.metadata.name, at(deployment, 'spec')]),
  );

describe.concurrent('Ready of a VirtualMCPServer', () => {
  const ready = (here: Playground, status: string, reason: string, timeoutMs?: number) =>
    here.becomes('VirtualMCPServer', 'tools', { type: 'Ready', status, reason }, timeoutMs);
  const phaseIs = (here: Playground, phase: string) =>
    here.appears('VirtualMCPServer', 'tools', (vmcp) => statusOf(vmcp)['phase'] === phase);
  const given = async (spec = {}) => {
    const here = await playground();
    await here.create(
      group(),
      entry('one', REMOTE),
      entry('two', REMOTE),
      virtualServer({}, { name: 'tools', ...spec }),
    );
    return here;
  };
  const report = (here: Playground, one: string, two: string) => {
    const discoveredBackends = Object.entries({ one, two }).map(([name, status]) => ({ name, status }));
    return here.patch('VirtualMCPServer', 'tools', { status: { discoveredBackends, backendCount: 2 } }, 'status');
  };

  it('follows the pods of its Deployment', async () => {
    const here = await given();
    await ready(here, 'False', 'DeploymentNotReady');
    await phaseIs(here, 'Pending');
    const pods = runPods(testScope(), here);
    await ready(here, 'True', 'DeploymentReady');
    await phaseIs(here, 'Ready');
    await pods.stop();
    await failPods(here);
    await ready(here, 'False', 'DeploymentNotReady');
    await phaseIs(here, 'Pending');
  });

  it('reports a Deployment that exceeds its progress deadline, and pods that cannot start', async () => {
    const here = await given();
    await here.appears('Deployment', 'vmcp-tools');
    await here.patch('Deployment', 'vmcp-tools', { spec: { progressDeadlineSeconds: 1 } });
    await ready(here, 'False', 'DeploymentFailed');
    await phaseIs(here, 'Failed');
    const pods = runPods(testScope(), here);
    await ready(here, 'True', 'DeploymentReady');
    await pods.stop();
  });

  it('follows the backend reports of gateways', async () => {
    const here = await given();
    const pods = runPods(testScope(), here);
    await ready(here, 'True', 'DeploymentReady');
    await pods.stop();
    const healthy = (status: string, reason: string) =>
      here.becomes('VirtualMCPServer', 'tools', { type: 'BackendsHealthy', status, reason });
    await healthy('Unknown', 'BackendsNotReported');
    await report(here, 'ready', 'ready');
    await healthy('True', 'AllBackendsRoutable');
    await report(here, 'ready', 'unavailable');
    await healthy('False', 'SomeBackendsUnhealthy');
    await ready(here, 'True', 'DeploymentReady');
    await phaseIs(here, 'Degraded');
    await report(here, 'unavailable', 'unavailable');
    await healthy('False', 'NoRoutableBackends');
    await ready(here, 'False', 'BackendsUnavailable');
    await phaseIs(here, 'Degraded');
    await report(here, 'unknown', 'unknown');
    await ready(here, 'False', 'BackendsUnknown');
    await report(here, 'ready', 'ready');
    await ready(here, 'True', 'DeploymentReady');
    await phaseIs(here, 'Ready');
  });

  it('is false for one unavailable backend when the spec requires all of them', async () => {
    const here = await given({ config: { operational: { failureHandling: { partialFailureMode: 'fail' } } } });
    const pods = runPods(testScope(), here);
    await ready(here, 'True', 'DeploymentReady');
    await pods.stop();
    await report(here, 'ready', 'unavailable');
    await ready(here, 'False', 'BackendsDegraded');
    await report(here, 'ready', 'ready');
    await ready(here, 'True', 'DeploymentReady');
  });

  it('keeps the status fields of gateways, and turns their problems into a condition', async () => {
    const here = await given();
    await here.appears('Deployment', 'vmcp-tools');
    const found = [
      { reason: 'KeyUnreadable', path: 'vmcp.incoming', message: 'the key cannot be read: write it again' },
    ];
    await here.patch('VirtualMCPServer', 'tools', { status: { runtimeProblems: found, backendCount: 7 } }, 'status');
    const condition = await here.becomes('VirtualMCPServer', 'tools', {
      type: 'RuntimeProblems',
      status: 'True',
      reason: 'KeyUnreadable',
    });
    expect(condition.message).toContain('the key cannot be read');
    await here.patch('VirtualMCPServer', 'tools', { spec: { replicas: 2 } });
    await here.becomes('VirtualMCPServer', 'tools', { type: 'SessionStorageWarning', status: 'True' });
    expect(statusOf(await here.get('VirtualMCPServer', 'tools'))).toMatchObject({
      runtimeProblems: found,
      backendCount: 7,
    });
    await here.patch('VirtualMCPServer', 'tools', { status: { runtimeProblems: [] } }, 'status');
    await here.appears(
      'VirtualMCPServer',
      'tools',
      (vmcp) => !JSON.stringify(vmcp['status']).includes('KeyUnreadable'),
    );
  });
});

describe.concurrent('Ready of an MCPServer', () => {
  const phaseIs = (here: Playground, phase: string) =>
    here.appears('MCPServer', 'web', (server) => statusOf(server)['phase'] === phase);

  it('follows its pods, and names the reason why they cannot start', async () => {
    const here = await playground();
    await here.create(group(), httpServer('web'));
    await here.becomes('MCPServer', 'web', { type: 'Ready', status: 'False', reason: 'NotReady' });
    await phaseIs(here, 'Pending');
    await reportPods(here, { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' } });
    await phaseIs(here, 'Failed');
    expect(JSON.stringify(statusOf(await here.get('MCPServer', 'web')))).toContain('ImagePullBackOff');
    const pods = runPods(testScope(), here);
    await here.becomes('MCPServer', 'web', { type: 'Ready', status: 'True', reason: 'Ready' });
    await phaseIs(here, 'Ready');
    await here.patch('MCPServer', 'web', { spec: { replicas: 0 } });
    await phaseIs(here, 'Stopped');
    await here.becomes('MCPServer', 'web', { type: 'Ready', status: 'True', reason: 'ScaledToZero' });
    await pods.stop();
  });

  it('sets one variable for each key of a Secret', async () => {
    const here = await playground();
    await here.create(...everySort());
    const deployment = await here.appears('Deployment', 'mcp-web');
    const env = at(deployment, 'spec.template.spec.containers.0.env') as { name: string; valueFrom?: unknown }[];
    expect(
      env
        .filter(({ valueFrom }) => valueFrom !== undefined)
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(['FIRST', 'SECOND']);
  });
});

describe.concurrent('tools that wait for an object', () => {
  const verdictOf = async (here: Playground, manifest: Manifest): Promise<string> =>
    kstatus((await here.get(manifest.kind, manifest.metadata.name)) as unknown as KubeObject);
  const ofOurs = (manifests: readonly Manifest[]) => manifests.filter(({ kind }) => kind !== 'Secret');
  const become = (here: Playground, manifests: readonly Manifest[], wanted: string) =>
    eventually(`every object is ${wanted}`, async () => {
      const verdicts = await Promise.all(manifests.map((manifest) => verdictOf(here, manifest)));
      return verdicts.every((verdict) => verdict === wanted);
    });

  it('find each kind ready, and an object without its Secret in progress', async () => {
    const here = await playground();
    const given = [...everySort(), authzConfig('rules'), telemetryConfig('otel'), toolConfig('tools'), webhookConfig()];
    const isLate = ({ metadata }: Manifest) => metadata.name === 'header';
    await here.create(...given.filter((each) => !isLate(each)), secret('hooks', { hmac: CANARY }));
    const credential = { kind: 'MCPExternalAuthConfig', name: 'by-header' } as const;
    await here.becomes(credential.kind, credential.name, { type: 'Reconciling', reason: 'DependencyNotReady' });
    await here.becomes(credential.kind, credential.name, { type: 'Ready', status: 'False' });
    runPods(testScope(), here);
    await here.create(...given.filter(isLate));
    await become(here, ofOurs(given), 'Current');
    for (const { kind, metadata } of ofOurs(given))
      await here.becomes(kind, metadata.name, { type: 'Ready', status: 'True' });
    expect(new Set(ofOurs(given).map(({ kind }) => kind))).toEqual(new Set(KINDS.map(({ kind }) => kind)));
  });

  it('give up on an object that only an edit can mend, and on pods that no attempt can start', async () => {
    const here = await playground();
    const given = [
      group(),
      entry('remote', 'https://127.0.0.1/mcp'),
      httpServer('web'),
      oidcConfig('login', { issuer: LOOPBACK }),
    ];
    await here.create(...given);
    await here.appears('Deployment', 'mcp-web');
    await here.patch('Deployment', 'mcp-web', { spec: { progressDeadlineSeconds: 1 } });
    await become(here, given.slice(1), 'Failed');
    await here.patch('MCPServerEntry', 'remote', { spec: { remoteUrl: REMOTE } });
    await become(here, given.slice(1, 2), 'Current');
  });

  it('wait for the pods of the current spec', async () => {
    const here = await playground();
    const given = [group(), httpServer('web')];
    await here.create(...given);
    const pods = runPods(testScope(), here);
    await become(here, given, 'Current');
    await pods.stop();
    await here.patch('MCPServer', 'web', { spec: { args: ['--new'] } });
    await here.becomes('MCPServer', 'web', { type: 'Reconciling', reason: 'RolloutInProgress' });
    expect(await verdictOf(here, given[1] as Manifest)).toBe('InProgress');
    await here.becomes('MCPServer', 'web', { type: 'Ready', status: 'True' });
    runPods(testScope(), here);
    await become(here, given, 'Current');
  });
});

describe('a mistake in a backend', () => {
  it('removes only that backend, which is never served without its credential', async () => {
    const here = await playground();
    const outgoingAuth = { backends: { bad: { type: 'discovered' } } };
    await here.create(group(), entry('good', REMOTE), virtualServer({}, { name: 'tools', outgoingAuth }));
    await here.create(entry('bad', REMOTE, 'streamable-http', { externalAuthConfigRef: { name: 'auth' } }));
    await here.create(headerAuth('auth', 'late'));
    await here.becomes('VirtualMCPServer', 'tools', {
      type: 'BackendsDiscovered',
      status: 'False',
      reason: 'BackendDiscoveryFailed',
    });
    const served = async () =>
      JSON.parse(
        (at(await here.get('ConfigMap', 'tools-vmcp-backends'), 'data') as Record<string, string>)['backends.json'] ??
          '{}',
      ) as {
        backends: { name: string }[];
        outgoing_auth?: unknown;
      };
    expect((await served()).backends.map(({ name }) => name)).toEqual(['good']);
    await here.becomes('VirtualMCPServer', 'tools', { type: 'Valid', status: 'True' });
    await here.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'late' }, stringData: { value: CANARY } });
    await eventually('both are served', async () => (await served()).backends.length === 2, { timeoutMs: 5_000 });
    expect(JSON.stringify((await served()).outgoing_auth)).toContain('late');
  });
});

it('sends an event when a condition changes, and keeps the time of an unchanged one', async () => {
  const here = await playground();
  await here.create(virtualServer({}, { name: 'tools' }));
  const first = await here.becomes('VirtualMCPServer', 'tools', { type: 'GroupRefValidated', status: 'False' });
  await here.patch('VirtualMCPServer', 'tools', { spec: { sessionAffinity: 'None' } });
  const second = await here.becomes('VirtualMCPServer', 'tools', {
    type: 'GroupRefValidated',
    status: 'False',
    observedGeneration: 2,
  });
  expect(second.lastTransitionTime).toBe(first.lastTransitionTime);
  const events = async () => (await here.list('Event')).filter((event) => event['reason'] === 'GroupRefNotFound');
  const [event] = await eventually('there is an event', async () => {
    const found = await events();
    return found.length > 0 && found;
  });
  expect(event).toMatchObject({ type: 'Warning', involvedObject: { kind: 'VirtualMCPServer', name: 'tools' } });
  expect((await events()).length).toBe(1);
});
