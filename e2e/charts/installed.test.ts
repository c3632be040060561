import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { beforeAll, describe, expect, test } from 'vitest';
import { attempt, run, type Ended } from '../cluster/harness/command.ts';
import { startControlPlane } from '../harness/control-plane/control-plane.ts';
import { clusterBinary } from '../harness/control-plane/binaries.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope } from '../harness/scope.ts';
import { chartFolder, helm, render } from './chart.ts';

const kubectlFile = clusterBinary('kubectl');
const SYSTEM = 'vmcp-system';
const OPERATOR = `system:serviceaccount:${SYSTEM}:vmcp-operator`;

/** Rights of a gateway and of the gateway of a stdio server. Kubernetes lets the operator grant only rights that it has. */
const GATEWAY_RULES = [
  { apiGroups: [''], resources: ['configmaps'], resourceNames: ['a-vmcp-backends'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['vmcp.dev'], resources: ['virtualmcpservers'], resourceNames: ['a'], verbs: ['get'] },
  {
    apiGroups: ['vmcp.dev'],
    resources: ['virtualmcpservers/status'],
    resourceNames: ['a'],
    verbs: ['get', 'patch', 'update'],
  },
  { apiGroups: [''], resources: ['pods'], resourceNames: ['mcp-a-0'], verbs: ['get'] },
  { apiGroups: [''], resources: ['pods/attach'], resourceNames: ['mcp-a-0'], verbs: ['get', 'create'] },
];

describe.skipIf(helm === undefined || kubectlFile === undefined)('the charts on a real API server', () => {
  const scope = blockScope();
  let env: Record<string, string>;
  const kubectl = (args: readonly string[], input?: string): Promise<Ended> =>
    attempt(kubectlFile ?? '', args, { env, ...(input !== undefined && { input }) });
  const kubectlOk = async (args: readonly string[], input?: string): Promise<string> =>
    run(kubectlFile ?? '', args, { env, ...(input !== undefined && { input }) });
  const helmOk = (args: readonly string[]): Promise<string> =>
    run(helm ?? '', [...args, '--namespace', SYSTEM], { env });
  const asOperator = (args: readonly string[], input?: string): Promise<Ended> =>
    kubectl([`--as=${OPERATOR}`, ...args], input);
  /** Returns true when the operator has a right; `resource` is `pods`, `pods/attach` or `leases:name`. */
  const may = async (verb: string, resource: string, place: readonly string[]): Promise<boolean> => {
    const [, type = '', subresource = '', name] = /^([^/:]+)(?:[/]([^:]+))?(?::(.+))?$/.exec(resource) ?? [];
    const asked = ['auth', 'can-i', verb, name === undefined ? type : `${type}/${name}`, '--subresource', subresource];
    return (await asOperator([...asked, ...place])).stdout.trim() === 'yes';
  };

  beforeAll(async () => {
    const { folder } = await startControlPlane(scope);
    env = { KUBECONFIG: join(folder, 'admin.kubeconfig') };
    for (const namespace of [SYSTEM, 'team-a', 'team-b']) await kubectlOk(['create', 'namespace', namespace]);
    const restricted = ['enforce', 'warn'].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`);
    await kubectlOk(['label', 'namespace', SYSTEM, ...restricted]);
  });

  test('every object passes strict validation, and the pod passes the restricted profile', async () => {
    for (const values of [[], ['operator.rbac.scope=namespace', 'operator.rbac.allowedNamespaces={team-a,team-b}']]) {
      const objects = await render('vmcp', [...values, 'networkPolicy.enabled=true', 'operator.replicaCount=2']);
      const manifest = objects.map((object) => stringify(object)).join('---\n');
      const { code, stderr } = await kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], manifest);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    }
  });

  test('an installed operator gets a pod in a restricted namespace', async () => {
    await helmOk(['install', 'vmcp', chartFolder('vmcp')]);
    const pods = await eventually('the pod of the operator', async () => {
      const list = await kubectlOk(['--namespace', SYSTEM, 'get', 'pods', '-o', 'name']);
      return list.trim() === '' ? undefined : list.trim();
    });
    expect(pods).toMatch(/^pod\/vmcp-operator-/);
  });

  test('the operator can grant the rights of its gateways and no others', async () => {
    const role = (rules: unknown) =>
      stringify({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'a-vmcp' }, rules });
    const create = (rules: unknown) => asOperator(['--namespace', 'team-a', 'create', '-f', '-'], role(rules));
    await eventually('the operator may create roles', () =>
      may('create', 'roles.rbac.authorization.k8s.io', ['--namespace', 'team-a']),
    );
    const refused = await create([{ apiGroups: [''], resources: ['pods/exec'], verbs: ['create'] }]);
    expect(refused.stderr).toContain('is attempting to grant RBAC permissions not currently held');
    expect(await create(GATEWAY_RULES)).toMatchObject({ code: 0, stderr: '' });
  });

  test.each([
    ['list', 'virtualmcpservers.vmcp.dev', true],
    ['patch', 'virtualmcpservers.vmcp.dev/status', true],
    ['create', 'pods/attach', true],
    ['patch', 'mcpoidcconfigs.vmcp.dev', true],
    ['watch', 'secrets', true],
    ['create', 'events', true],
    ['watch', 'namespaces', true],
    ['create', 'secrets', false],
    ['delete', 'secrets', false],
    ['create', 'virtualmcpservers.vmcp.dev', false],
    ['delete', 'mcpservers.vmcp.dev', false],
    ['create', 'pods', false],
    ['delete', 'pods', false],
    ['create', 'pods/exec', false],
    ['create', 'clusterroles.rbac.authorization.k8s.io', false],
    ['get', 'nodes', false],
    ['create', 'serviceaccounts/token', false],
    ['impersonate', 'users', false],
  ])('with scope cluster, it may %s %s: %s', async (verb, resource, answer) => {
    await expect.poll(() => may(verb, resource, ['--namespace', 'team-a'])).toBe(answer);
  });

  test('the operator can update its own Lease in its own namespace only', async () => {
    const mayUpdateIts = () => may('update', 'leases.coordination.k8s.io:vmcp-operator', ['--namespace', SYSTEM]);
    await expect.poll(mayUpdateIts).toBe(true);
    expect(await may('update', 'leases.coordination.k8s.io:other', ['--namespace', SYSTEM])).toBe(false);
    expect(await may('update', 'leases.coordination.k8s.io:vmcp-operator', ['--namespace', 'team-a'])).toBe(false);
  });

  test('edit and view include rights to the resources of vmcp', async () => {
    const can = async (user: string, verb: string) =>
      (await kubectl([`--as=${user}`, '-n', 'team-a', 'auth', 'can-i', verb, 'mcpservers.vmcp.dev'])).stdout.trim();
    for (const role of ['edit', 'view']) {
      const selector = `rbac.authorization.k8s.io/aggregate-to-${role}=true,app.kubernetes.io/part-of=vmcp`;
      const aggregated = (await kubectlOk(['get', 'clusterroles', '-o', 'name', '-l', selector])).trim().split('\n');
      for (const name of aggregated) {
        const clusterRole = name.replace('clusterrole.rbac.authorization.k8s.io/', '');
        const binding = `${role}-${clusterRole}`;
        const who = [`--clusterrole=${clusterRole}`, `--user=${role}or`];
        await kubectlOk(['-n', 'team-a', 'create', 'rolebinding', binding, ...who]);
      }
    }
    const verbs = ['list', 'create', 'delete'];
    const answersTo = (user: string) => Promise.all(verbs.map((verb) => can(user, verb)));
    await expect.poll(() => answersTo('editor')).toEqual(['yes', 'yes', 'yes']);
    await expect.poll(() => answersTo('viewor')).toEqual(['yes', 'no', 'no']);
  });

  test('with scope namespace, it has rights in the allowed namespaces only', async () => {
    await helmOk([
      'upgrade',
      'vmcp',
      chartFolder('vmcp'),
      '--set',
      'operator.rbac.scope=namespace',
      '--set',
      'operator.rbac.allowedNamespaces={team-b}',
    ]);
    await eventually('the rights in team-b', () => may('create', 'deployments.apps', ['--namespace', 'team-b']));
    const becomes = (answer: boolean, verb: string, resource: string, ...place: string[]) =>
      expect.poll(() => may(verb, resource, place)).toBe(answer);
    await becomes(true, 'list', 'secrets', '--namespace', 'team-b');
    await becomes(false, 'list', 'secrets', '--namespace', 'team-a');
    await becomes(false, 'list', 'secrets', '--all-namespaces');
    await becomes(false, 'list', 'virtualmcpservers.vmcp.dev', '--all-namespaces');
  });

  test('uninstall deletes everything except the CRDs', async () => {
    await helmOk(['uninstall', 'vmcp', '--wait']);
    const everything =
      'clusterroles,clusterrolebindings,roles,rolebindings,deployments,services,serviceaccounts,leases';
    const left = async () => {
      const text = await kubectlOk(['get', everything, '-A', '-l', 'app.kubernetes.io/part-of=vmcp', '-o', 'yaml']);
      return (parse(text) as { items: unknown[] }).items;
    };
    await expect.poll(left).toEqual([]);
    expect(await kubectlOk(['get', 'crd', '-o', 'name'])).toContain('virtualmcpservers.vmcp.dev');
  });

  test('a release of vmcp-crds adopts CRDs that kubectl has applied, and keeps them on uninstall', async () => {
    await helmOk(['install', 'vmcp-crds', chartFolder('vmcp-crds'), '--take-ownership']);
    await helmOk(['uninstall', 'vmcp-crds']);
    expect(await kubectlOk(['get', 'crd', '-o', 'name'])).toContain('virtualmcpservers.vmcp.dev');
  });
});
