import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import type { ControlPlane } from '../harness/control-plane/control-plane.ts';
import type { ClusterApi } from '../harness/control-plane/api.ts';
import { group, virtualServer } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope, testScope } from '../harness/scope.ts';
import { ownControlPlane, renderChart, untilForbidden, type OperatorAccess } from './access.ts';
import { startOperator, type Operator } from './operator-process.ts';
import { at, conditionsOf, Playground } from './playground.ts';
import { everySort } from './resources.ts';

const SCOPE = ['operator.rbac.scope=namespace', 'operator.rbac.allowedNamespaces={one,two}'];
const scope = blockScope();
let plane: ControlPlane;
let api: ClusterApi;
let access: OperatorAccess;
let operator: Operator;

beforeAll(async () => {
  ({ plane, api, access } = await ownControlPlane(scope, { values: SCOPE, namespaces: ['one', 'two', 'three'] }));
  operator = await startOperator(scope, plane, access, { watch: 'one,two' });
});

it('the chart has no rights outside of the namespaces', async () => {
  const kinds = (await renderChart(SCOPE)).map(({ kind }) => kind);
  expect(kinds).toContain('RoleBinding');
  expect(kinds.filter((kind) => kind.startsWith('ClusterRole'))).toEqual([]);
});

it('serves the allowed namespaces and ignores others', async () => {
  const [one, two, three] = ['one', 'two', 'three'].map((name) => new Playground(api, name)) as [
    Playground,
    Playground,
    Playground,
  ];
  for (const here of [one, two, three]) await here.create(...everySort());
  for (const here of [one, two]) {
    await here.appears('Deployment', 'vmcp-all');
    await here.appears('StatefulSet', 'mcp-local');
    await here.becomes('VirtualMCPServer', 'all', { type: 'AuthConfigured', status: 'True' });
  }
  await sleep(1_000);
  expect(await three.list('Deployment')).toEqual([]);
  expect(conditionsOf(await three.get('VirtualMCPServer', 'all'))).toEqual([]);
  for (const { kind, metadata } of everySort().filter(({ apiVersion }) => apiVersion.startsWith('vmcp.dev/'))) {
    const unseen = await three.get(kind, metadata.name);
    expect(at(unseen, 'status.observedGeneration')).toBe(-1); // `helm --wait` would take it for ready otherwise
  }
  await one.remove('VirtualMCPServer', 'all');
  await one.disappears('Deployment', 'vmcp-all', 20_000);
  expect(operator.running()).toBe(true);
});

it('reports a missing right by a condition, and applies the other objects', async () => {
  const here = new Playground(api, 'two');
  const roles = (await here.list('Role')).filter(({ metadata }) => metadata.name.includes('operator'));
  const [role] = roles;
  if (!role) throw new Error('the chart has no Role for the operator in the namespace');
  const rules = role['rules'] as { resources: string[] }[];
  const without = rules.map((rule) => ({ ...rule, resources: rule.resources.filter((each) => each !== 'services') }));
  await here.patch('Role', role.metadata.name, { rules: without.filter(({ resources }) => resources.length > 0) });
  await untilForbidden(api, access.username, { namespace: 'two', verb: 'patch', resource: 'services' });
  await here.create(group('more'), virtualServer({}, { name: 'late', groupName: 'more' }));
  const late = await here.becomes('VirtualMCPServer', 'late', { type: 'Applied', status: 'False' });
  expect(late.message).toContain('services');
  await here.patch('Role', role.metadata.name, { rules });
  await here.appears('Service', 'vmcp-late', () => true, 60_000);
  await here.becomes('VirtualMCPServer', 'late', { type: 'Applied', status: 'True' });
});

it('serves other namespaces while one is forbidden, and serves that one when it is allowed', async () => {
  await operator.stop();
  const late = await startOperator(testScope(), plane, access, { watch: 'one,three' });
  const [one, three] = [new Playground(api, 'one'), new Playground(api, 'three')];
  await one.create(group('more'), virtualServer({}, { name: 'after', groupName: 'more' }));
  await one.appears('Deployment', 'vmcp-after');
  const warnings = () => late.output().match(/^.*cannot be (?:read|watched).*"warn".*$/gmu) ?? [];
  await eventually('the log names the namespace', () => warnings().length > 0);
  await sleep(3_000);
  expect(warnings()).toHaveLength(1);
  expect(warnings()[0]).toMatch(/"namespace":"three".*Forbidden|Forbidden.*"namespace":"three"/u);
  expect(warnings()[0]).toContain('operator.rbac.allowedNamespaces');
  expect(conditionsOf(await three.get('VirtualMCPServer', 'all'))).toEqual([]);
  for (const kind of ['Role', 'RoleBinding']) {
    const [right] = (await one.list(kind)).filter(({ metadata }) => metadata.name === 'vmcp-operator');
    if (!right) throw new Error(`the chart has no ${kind} for the operator in the namespace`);
    await api.create({ ...right, metadata: { name: right.metadata.name, namespace: 'three' } });
  }
  await three.appears('Deployment', 'vmcp-all', () => true, 30_000);
  await three.becomes('VirtualMCPServer', 'all', { type: 'AuthConfigured', status: 'True' });
  expect(warnings()).toHaveLength(1);
});
