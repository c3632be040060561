import { describe, expect, test } from 'vitest';
import { readServeConfig } from '../../operator/cli/serve.ts';
import { run } from '../cluster/harness/command.ts';
import { chartFolder, helm, namesOf, parseObjects, render, template, type Rendered } from './chart.ts';

const ENABLED = [
  'management.enabled=true',
  'management.auth.type=kubernetes',
  'management.auth.serviceAccount=team-a:client',
  'management.namespaces={team-b,team-a}',
];

interface Workload {
  readonly template: {
    readonly spec: { readonly serviceAccountName: string; readonly containers: readonly [{ readonly image: string }] };
  };
}

/** Returns the objects that the management adds to the chart. */
async function added(values: readonly string[]): Promise<Rendered[]> {
  const before = new Set(
    namesOf(
      await render(
        'vmcp',
        values.filter((value) => !value.startsWith('management.')),
      ),
    ),
  );
  return (await render('vmcp', values)).filter((object) => !before.has(namesOf([object])[0] ?? ''));
}

describe.skipIf(helm === undefined)('the management Deployment of chart vmcp', () => {
  test('is a Deployment with rights in the served namespaces only', async () => {
    expect(namesOf(await added([...ENABLED, 'networkPolicy.enabled=true']))).toEqual([
      'ConfigMap vmcp-system/vmcp-management',
      'Deployment vmcp-system/vmcp-management',
      'NetworkPolicy vmcp-system/vmcp-management',
      'Role team-a/vmcp-management',
      'Role team-b/vmcp-management',
      'RoleBinding team-a/vmcp-management',
      'RoleBinding team-b/vmcp-management',
      'Service vmcp-system/vmcp-management',
      'ServiceAccount vmcp-system/vmcp-management',
    ]);
  });

  test('passes helm lint --strict', async () => {
    const values = ENABLED.flatMap((value) => ['--set', value]);
    await run(helm ?? '', ['lint', '--strict', chartFolder('vmcp'), ...values]);
  });

  test('passes the audit settings on', async () => {
    const objects = await added([...ENABLED, 'management.audit.onOverflow=refuse']);
    const config = objects.find(({ kind }) => kind === 'ConfigMap') as Rendered & { data: Record<string, string> };
    expect(readServeConfig(config.data['config.json'] ?? '')).toMatchObject({ audit: { onOverflow: 'refuse' } });
  });

  test('has a configuration that vmcp serve accepts', async () => {
    const config = (await added(ENABLED)).find(({ kind }) => kind === 'ConfigMap') as Rendered & { data: object };
    const text = (config.data as Record<string, string>)['config.json'] ?? '';
    expect(readServeConfig(text)).toMatchObject({
      protectedBy: { vmcp: { incoming: { service_account: 'team-a:client' } } },
      cluster: { namespaces: ['team-b', 'team-a'] },
    });
    expect(readServeConfig(text)).not.toHaveProperty('audit');
  });

  test('runs the image of the operator with an account of its own', async () => {
    const deployment = (objects: readonly Rendered[]): Workload =>
      objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('management'))
        ?.spec as Workload;
    const { spec } = deployment(await added([...ENABLED, 'operator.image=registry.example/operator:1'])).template;
    expect([spec.serviceAccountName, spec.containers[0].image]).toEqual([
      'vmcp-management',
      'registry.example/operator:1',
    ]);
    const other = deployment(await added([...ENABLED, 'management.image=other:1', 'fullnameOverride=blue']));
    expect([other.template.spec.serviceAccountName, other.template.spec.containers[0].image]).toEqual([
      'blue-management',
      'other:1',
    ]);
  });

  test.each([
    ['Kubernetes', [], [], 65532],
    ['Kubernetes without one', ['management.podSecurityContext.fsGroup=null'], [], undefined],
    ['OpenShift, which sets one itself,', [], ['security.openshift.io/v1'], undefined],
    ['OpenShift with one of yours', ['management.podSecurityContext.fsGroup=2000'], ['security.openshift.io/v1'], 2000],
  ])('on %s has the right group of files', async (_, values, apiVersions, fsGroup) => {
    const { code, stdout, stderr } = await template('vmcp', [...ENABLED, ...values], { apiVersions });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const spec = parseObjects(stdout).find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'vmcp-management',
    )?.spec as { template: { spec: { securityContext: object } } };
    expect(spec.template.spec.securityContext).toEqual({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
      ...(fsGroup !== undefined && { fsGroup }),
    });
  });

  test('reads and changes one Secret only', async () => {
    const rules = (await added(ENABLED)).flatMap(({ rules: all = [] }) => all);
    const onSecrets = rules.filter(({ resources }) => resources.includes('secrets'));
    for (const { verbs, resourceNames } of onSecrets)
      if (verbs.join() !== 'create') expect(resourceNames).toEqual(['vmcp-management-secrets']);
    const words = rules.flatMap(({ apiGroups, resources, verbs }) => [...apiGroups, ...resources, ...verbs]);
    for (const forbidden of ['*', 'escalate', 'bind', 'impersonate', 'pods/exec', 'pods/attach', 'update'])
      expect(words).not.toContain(forbidden);
  });

  test.each([
    ['no auth', ['management.namespaces={a}'], 'management.auth'],
    ['no namespaces', ['management.auth.type=kubernetes'], 'management.namespaces'],
    [
      'the namespace of the operator',
      ['management.auth.type=kubernetes', 'management.namespaces={vmcp-system}'],
      'is the namespace of the operator',
    ],
    [
      'a namespace that the operator does not watch',
      [...ENABLED, 'operator.rbac.scope=namespace', 'operator.rbac.allowedNamespaces={team-a}'],
      'the operator does not watch team-b',
    ],
    ['an unknown value', [...ENABLED, 'management.replicas=2'], 'replicas'],
  ])('rejects %s', async (_name, values, why) => {
    const { code, stderr } = await template('vmcp', ['management.enabled=true', ...values]);
    expect(code).not.toBe(0);
    expect(stderr).toContain(why);
  });
});
