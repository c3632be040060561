import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ControlPlane } from '../harness/control-plane/control-plane.ts';
import type { ClusterApi, KubeManifest } from '../harness/control-plane/api.ts';
import { entry, group, virtualServer } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope, testScope } from '../harness/scope.ts';
import { ownControlPlane, type OperatorAccess } from './access.ts';
import { auditMark, auditSince, lineOf, writesOf } from './audit.ts';
import { runPods } from './kubelet.ts';
import { startOperator, type Operator, type OperatorOptions } from './operator-process.ts';
import { at, newPlayground, placeOf, statusOf, type Playground } from './playground.ts';
import { everySort, httpServer, REMOTE } from './resources.ts';
import { settled, unobserved, versions, writesDuring } from './steady-state.ts';

const scope = blockScope();
let plane: ControlPlane;
let api: ClusterApi;
let access: OperatorAccess;
let playgrounds: Playground[];
const namespaces = () => playgrounds.map(({ namespace }) => namespace);

const operator = (options: OperatorOptions = {}): Promise<Operator> =>
  startOperator(testScope(), plane, access, options);

/** Starts operators for the running test and waits until they write nothing. */
async function operators(count: number, options: OperatorOptions = {}): Promise<Operator[]> {
  const started: Operator[] = [];
  for (let index = 0; index < count; index += 1) started.push(await operator(options));
  await settled(api, namespaces());
  return started;
}

async function leaderOf(candidates: readonly Operator[]): Promise<Operator> {
  return eventually('one of the operators leads', async () => {
    const lease = await api.get(placeOf('Lease', access.namespace, 'vmcp-operator'));
    const holder = String(at(lease, 'spec.holderIdentity'));
    return candidates.find(({ podName, running }) => running() && holder.includes(podName)) ?? false;
  });
}

/** Returns true when every pod has the newest template and is ready. */
function isRolledOut(deployment: KubeManifest): boolean {
  const { observedGeneration, replicas, updatedReplicas, availableReplicas } = statusOf(deployment);
  const wanted = at(deployment, 'spec.replicas');
  return (
    observedGeneration === deployment.metadata.generation &&
    [replicas, updatedReplicas, availableReplicas].every((count) => count === wanted)
  );
}

/** Creates a VirtualMCPServer and returns the time until its Deployment exists. */
async function reactionMs(here: Playground, name: string): Promise<number> {
  const start = Date.now();
  await here.create(virtualServer({}, { name }));
  await here.appears('Deployment', `vmcp-${name}`, () => true, 60_000);
  return Date.now() - start;
}

beforeAll(async () => {
  ({ plane, api, access } = await ownControlPlane(scope));
  playgrounds = await Promise.all([1, 2, 3].map(() => newPlayground(scope, api)));
  await Promise.all(playgrounds.map((here) => here.create(...everySort())));
  const first = { stops: [] as (() => unknown)[] };
  await startOperator({ defer: (stop) => void first.stops.push(stop) }, plane, access);
  const pods = playgrounds.map((here) => runPods(scope, here));
  for (const here of playgrounds)
    await here.becomes('VirtualMCPServer', 'all', { type: 'Ready', status: 'True' }, 30_000);
  for (const here of playgrounds) {
    const note = { metadata: { annotations: { 'injector.example.com/status': 'injected' } } };
    await here.patch('Deployment', 'vmcp-all', { ...note, spec: { template: note } });
    await here.patch('Service', 'vmcp-all', note);
  }
  for (const here of playgrounds) await here.appears('Deployment', 'vmcp-all', isRolledOut, 60_000);
  await settled(api, namespaces());
  for (const each of pods) await each.stop();
  for (const stop of first.stops.reverse()) await stop();
});

describe('at rest', () => {
  it('two operators write only their lease in 60 s', async () => {
    const [one, two] = await operators(2);
    const before = await versions(api, namespaces());
    const mark = await auditMark(plane);
    await sleep(60_000);
    const events = (await auditSince(plane, mark)).filter(({ user }) => user.username === access.username);
    expect(writesOf(events, access.username).map(lineOf)).toEqual([]);
    // Proves that the log records their writes: the leader has renewed its lease.
    expect(events.filter(({ objectRef }) => objectRef?.resource === 'leases').length).toBeGreaterThan(20);
    expect(await versions(api, namespaces())).toEqual(before);
    const leading = await Promise.all([one, two].map(async (each) => each?.metric('leader_election_master_status')));
    expect(leading.toSorted()).toEqual([0, 1]);
  });

  it('a restart of the operator writes nothing', async () => {
    const [first] = await operators(1);
    const before = await versions(api, namespaces());
    const written = await writesDuring(plane, access.username, async () => {
      expect(await first?.stop()).toEqual({ code: 0, signal: null });
      await operators(1);
    });
    expect(written).toEqual([]);
    expect(await versions(api, namespaces())).toEqual(before);
  });
});

describe('the loss of the leader', () => {
  it('by kill -9 gives a new leader in less than 20 s, without a rollout', async () => {
    const both = await operators(2);
    const [here] = playgrounds as [Playground];
    const before = await versions(api, namespaces());
    const leader = await leaderOf(both);
    leader.signal('SIGKILL');
    await leader.exited;
    expect(await reactionMs(here, 'after-kill')).toBeLessThan(20_000);
    await here.remove('VirtualMCPServer', 'after-kill');
    await here.disappears('Deployment', 'vmcp-after-kill', 20_000);
    const after = await versions(api, namespaces());
    expect(
      Object.entries(before).filter(([name, version]) => /all|web|local/u.test(name) && after[name] !== version),
    ).toEqual([]);
  });

  it('by SIGTERM exits with 0 within 10 s, and the next leader starts at once', async () => {
    const both = await operators(2);
    const leader = await leaderOf(both);
    const start = Date.now();
    leader.signal('SIGTERM');
    expect(await leader.exited).toEqual({ code: 0, signal: null });
    expect(Date.now() - start).toBeLessThan(10_000);
    expect(await reactionMs(playgrounds[1] as Playground, 'after-term')).toBeLessThan(8_000);
    await playgrounds[1]?.remove('VirtualMCPServer', 'after-term');
  });

  it('by SIGSTOP: the old leader writes nothing when it resumes after another has taken over', async () => {
    const both = await operators(2);
    const leader = await leaderOf(both);
    const other = both.find((each) => each !== leader) as Operator;
    leader.signal('SIGSTOP');
    const here = playgrounds[2] as Playground;
    expect(await reactionMs(here, 'after-freeze')).toBeLessThan(20_000);
    await settled(api, namespaces()); // the other operator writes nothing more
    const written = await writesDuring(plane, access.username, async () => {
      leader.signal('SIGCONT');
      await sleep(8_000);
    });
    expect(written).toEqual([]);
    expect(await leaderOf(both)).toBe(other);
    await here.remove('VirtualMCPServer', 'after-freeze');
  });
});

it('two operators that both lead reach the same state and stop writing', async () => {
  await operators(2, { leaderElect: false });
  const here = playgrounds[0] as Playground;
  for (let round = 0; round < 5; round += 1) {
    await here.create(entry(`extra-${String(round)}`, REMOTE));
    await here.patch('VirtualMCPServer', 'all', { spec: { config: { metadata: { round: String(round) } } } });
  }
  await here.appears('ConfigMap', 'all-vmcp-backends', (map) => JSON.stringify(map['data']).includes('extra-4'));
  await settled(api, namespaces());
  expect(await unobserved(here)).toEqual([]);
  expect(await writesDuring(plane, access.username, () => sleep(10_000))).toEqual([]);
  for (let round = 0; round < 5; round += 1) await here.remove('MCPServerEntry', `extra-${String(round)}`);
});

describe('kill -9 during many changes', () => {
  it('loses no change', async () => {
    const here = await newPlayground(testScope(), api, 'storm');
    const groups = ['red', 'green', 'blue'];
    for (const name of groups) await here.create(group(name), virtualServer({}, { name, groupName: name }));
    let current = await operator();
    const names = Array.from({ length: 12 }, (_, index) => `server-${String(index)}`);
    for (let step = 0; step < 120; step += 1) {
      await change(here, names[(step * 7) % names.length] as string, groups[(step * 5) % 3] as string, step);
      if (step % 30 === 15) {
        current.signal('SIGKILL');
        await current.exited;
        current = await operator({ unready: true });
      }
    }
    await eventually('every object is observed', async () => (await unobserved(here)).length === 0, {
      timeoutMs: 60_000,
    });
    for (const name of groups) {
      const members = await membersOf(here, name);
      await here.appears('ConfigMap', `${name}-vmcp-backends`, (map) => backendsOf(map).join() === members.join());
      await here.appears('MCPGroup', name, (each) => at(each, 'status.serverCount') === members.length);
    }
    const servers = (await here.list('MCPServer')).map(({ metadata }) => `mcp-${metadata.name}`).toSorted();
    const workloads = async () =>
      (await here.list('Deployment'))
        .map(({ metadata }) => metadata.name)
        .filter((name) => name.startsWith('mcp-'))
        .toSorted();
    // The garbage collector deletes the objects of a deleted owner.
    await expect.poll(workloads, { timeout: 30_000 }).toEqual(servers);
    await settled(api, [here.namespace]);
    expect(await workloads()).toEqual(servers);
    expect(await writesDuring(plane, access.username, () => sleep(5_000))).toEqual([]);
  });
});

/** Makes one of the changes of a user, chosen by the step. */
async function change(here: Playground, name: string, groupName: string, step: number): Promise<void> {
  const there = await here.get('MCPServer', name);
  if (!there) await here.create(httpServer(name, { groupRef: { name: groupName } }));
  else if (step % 4 === 0) await here.remove('MCPServer', name);
  else if (step % 4 === 1) await here.patch('MCPServer', name, { spec: { proxyPort: 8_000 + step } });
  else if (step % 4 === 2) await here.patch('MCPServer', name, { spec: { groupRef: { name: groupName } } });
  else await here.remove('Deployment', `mcp-${name}`);
}

async function membersOf(here: Playground, groupName: string): Promise<string[]> {
  const servers = await here.list('MCPServer');
  return servers
    .filter((server) => at(server, 'spec.groupRef.name') === groupName && !server.metadata.deletionTimestamp)
    .map(({ metadata }) => metadata.name)
    .toSorted();
}

const backendsOf = (map: KubeManifest): string[] => {
  const { backends } = JSON.parse((map['data'] as Record<string, string>)['backends.json'] ?? '{}') as {
    backends?: { name: string }[];
  };
  return (backends ?? []).map(({ name }) => name).toSorted();
};
