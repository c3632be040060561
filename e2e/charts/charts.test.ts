import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describe, expect, test } from 'vitest';
import { root, temporaryFolder, writeFiles } from '../harness/vmcp.ts';
import { chartFolder, helm, namesOf, parseObjects, render, template, type Rendered } from './chart.ts';
import { run } from '../cluster/harness/command.ts';
import { testScope } from '../harness/scope.ts';

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
}

const containerOf = (objects: readonly Rendered[]): Container => {
  const deployment = objects.find(({ kind }) => kind === 'Deployment');
  const spec = deployment?.spec as { template: { spec: { containers: [Container] } } };
  return spec.template.spec.containers[0];
};
const environmentOf = (objects: readonly Rendered[]): Record<string, string | undefined> =>
  Object.fromEntries(containerOf(objects).env.map(({ name, value }) => [name, value]));

const EVERYTHING = [
  'operator.replicaCount=2',
  'monitoring.serviceMonitor.enabled=true',
  'monitoring.podMonitor.enabled=true',
  'monitoring.prometheusRule.enabled=true',
  'monitoring.labels.release=prometheus',
  'networkPolicy.enabled=true',
];

describe.skipIf(helm === undefined)('chart vmcp', () => {
  test('has the version of the package in every place', async () => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    for (const chart of ['vmcp', 'vmcp-crds']) {
      const { version: own, appVersion } = parse(await readFile(join(chartFolder(chart), 'Chart.yaml'), 'utf8')) as {
        version: string;
        appVersion: string;
      };
      expect([own, appVersion]).toEqual([version, version]);
    }
    const objects = await render('vmcp');
    expect(containerOf(objects).image).toBe(`localhost/vmcp-operator:${version}`);
    expect(environmentOf(objects)['GATEWAY_IMAGE']).toBe(`localhost/vmcp-gateway:${version}`);
  });

  test('passes helm lint --strict', async () => {
    await run(helm ?? '', ['lint', '--strict', chartFolder('vmcp'), chartFolder('vmcp-crds')]);
  });

  test('by default installs only the operator, with cluster scope', async () => {
    const objects = await render('vmcp');
    expect(namesOf(objects)).toEqual([
      'ClusterRole /vmcp-operator',
      'ClusterRole /vmcp-operator-edit',
      'ClusterRole /vmcp-operator-view',
      'ClusterRoleBinding /vmcp-operator',
      'Deployment vmcp-system/vmcp-operator',
      'Role vmcp-system/vmcp-operator-leader-election',
      'RoleBinding vmcp-system/vmcp-operator-leader-election',
      'Service vmcp-system/vmcp-operator',
      'ServiceAccount vmcp-system/vmcp-operator',
    ]);
    expect(containerOf(objects).args).toEqual([
      'operator',
      '--namespace',
      'all',
      '--leader-elect=true',
      '--metrics-port',
      '8081',
    ]);
  });

  test('with all options adds monitoring, a PodDisruptionBudget and network policies', async () => {
    const added = namesOf(await render('vmcp', EVERYTHING)).filter((name) => /Monitor|Rule|NetworkPolicy/.test(name));
    expect(added).toEqual([
      'NetworkPolicy vmcp-system/vmcp-operator',
      'PodMonitor vmcp-system/vmcp-operator-gateways',
      'PrometheusRule vmcp-system/vmcp-operator',
      'ServiceMonitor vmcp-system/vmcp-operator',
    ]);
  });

  const budgetOf = async (...values: string[]): Promise<unknown> =>
    (await render('vmcp', values)).find(({ kind }) => kind === 'PodDisruptionBudget')?.spec;
  const matchLabels = { 'app.kubernetes.io/name': 'vmcp-operator', 'app.kubernetes.io/instance': 'vmcp' };

  test.each([
    [['operator.replicaCount=2'], { maxUnavailable: 1 }],
    [
      ['operator.podDisruptionBudget.enabled=true', 'operator.podDisruptionBudget.minAvailable=50%'],
      { minAvailable: '50%' },
    ],
    [['operator.replicaCount=3', 'operator.podDisruptionBudget.maxUnavailable=0'], { maxUnavailable: 0 }],
    [['operator.replicaCount=2', 'operator.podDisruptionBudget=null'], { maxUnavailable: 1 }],
  ])(
    'with %j the operator has a PodDisruptionBudget that pods that are not ready never hold up',
    async (values, spec) => {
      expect(await budgetOf(...values)).toEqual({
        ...spec,
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
        selector: { matchLabels },
      });
    },
  );

  test.each([[[]], [['operator.replicaCount=2', 'operator.podDisruptionBudget.enabled=false']]])(
    'with %j the operator has no PodDisruptionBudget',
    async (values) => expect(await budgetOf(...values)).toBeUndefined(),
  );

  test('spreads the operator over nodes, or as the values say', async () => {
    const constraints = async (...values: string[]): Promise<unknown> => {
      const spec = (await render('vmcp', values)).find(({ kind }) => kind === 'Deployment')?.spec;
      return (spec as { template: { spec: Record<string, unknown> } }).template.spec['topologySpreadConstraints'];
    };
    const byNode = { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' };
    expect(await constraints()).toEqual([{ ...byNode, labelSelector: { matchLabels } }]);
    const own = 'operator.topologySpreadConstraints[0]';
    const values = [
      'maxSkew=2',
      'topologyKey=zone',
      'whenUnsatisfiable=DoNotSchedule',
      'labelSelector.matchLabels.a=b',
    ];
    expect(await constraints(...values.map((value) => `${own}.${value}`))).toEqual([
      {
        maxSkew: 2,
        topologyKey: 'zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { a: 'b' } },
      },
    ]);
    expect(await constraints('operator.topologySpreadConstraints=null')).toBeUndefined();
  });

  test('scope namespace has no rights outside of the allowed namespaces', async () => {
    const objects = await render('vmcp', [
      'operator.rbac.scope=namespace',
      'operator.rbac.allowedNamespaces={team-b,team-a}',
    ]);
    expect(namesOf(objects).filter((name) => name.startsWith('Role') || name.startsWith('Cluster'))).toEqual([
      'Role team-a/vmcp-operator',
      'Role team-b/vmcp-operator',
      'Role vmcp-system/vmcp-operator-leader-election',
      'RoleBinding team-a/vmcp-operator',
      'RoleBinding team-b/vmcp-operator',
      'RoleBinding vmcp-system/vmcp-operator-leader-election',
    ]);
    expect(containerOf(objects).args).toContain('team-a,team-b');
    for (const binding of objects.filter(({ kind }) => kind === 'RoleBinding')) {
      expect(binding.subjects).toEqual([expect.objectContaining({ name: 'vmcp-operator', namespace: 'vmcp-system' })]);
    }
  });

  test.each([
    ['namespace with no namespace', [], 'needs the namespaces to watch'],
    [
      'namespace with its own one',
      ['operator.rbac.allowedNamespaces={team-a,vmcp-system}'],
      'is the namespace of the operator',
    ],
    ['namespace with all', ['operator.rbac.allowedNamespaces={all}'], 'needs scope cluster'],
    ['cluster with namespaces', ['operator.rbac.allowedNamespaces={team-a}'], 'scope cluster covers every namespace'],
  ])('rejects scope %s', async (what, values, why) => {
    const [scope] = what.split(' ');
    const { code, stderr } = await template('vmcp', [`operator.rbac.scope=${scope}`, ...values]);
    expect(code).not.toBe(0);
    expect(stderr).toContain('operator.rbac.allowedNamespaces: ');
    expect(stderr).toContain(why);
  });

  test.each(['no', '1e3'])('a release, its account and a namespace may be called %s', async (name) => {
    const values = ['operator.rbac.scope=namespace', `operator.rbac.allowedNamespaces={${name}}`];
    const objects = await render('vmcp', [...values, `operator.serviceAccount.name=${name}`], name);
    const words = objects.flatMap(({ metadata, subjects = [] }) => [
      metadata.name,
      metadata.namespace,
      ...Object.values(metadata.labels ?? {}),
      ...subjects.map((subject) => subject.name),
    ]);
    expect(words).toContain(name);
    expect(words.filter((word) => typeof word !== 'string')).toEqual([]);
  });

  test('both charts require a Kubernetes version with the features that gateway pods use', async () => {
    for (const chart of ['vmcp', 'vmcp-crds']) {
      const old = await template(chart, [], { kubeVersion: '1.29.9' });
      expect(old).toMatchObject({ code: 1, stderr: expect.stringContaining('>=1.30.0') as unknown });
      expect(await template(chart, [], { kubeVersion: '1.30.0' })).toMatchObject({ code: 0 });
    }
  });

  test.each(['cluster', 'namespace'])(
    'no right of scope %s is a wildcard, an escalation or a write of Secrets',
    async (scope) => {
      const namespaces = scope === 'namespace' ? ['operator.rbac.allowedNamespaces={a}'] : [];
      const objects = await render('vmcp', [`operator.rbac.scope=${scope}`, ...namespaces]);
      const rules = objects.flatMap(({ rules: all = [] }) => all);
      expect(rules.length).toBeGreaterThan(5);
      const words = rules.flatMap(({ apiGroups, resources, verbs }) => [...apiGroups, ...resources, ...verbs]);
      for (const forbidden of ['*', 'escalate', 'bind', 'impersonate', 'pods/exec', 'nodes', 'serviceaccounts/token']) {
        expect(words).not.toContain(forbidden);
      }
      const onSecrets = rules.filter(({ resources }) => resources.includes('secrets')).flatMap(({ verbs }) => verbs);
      expect(onSecrets).toEqual(['get', 'list', 'watch']);
    },
  );

  test('values become the environment of the operator', async () => {
    const environment = environmentOf(
      await render('vmcp', [
        'operator.gatewayImage=registry.example/gateway:1',
        'operator.imagePullPolicy=Always',
        'operator.defaultImagePullSecrets={one}',
        'operator.defaultImagePullSecrets[1].name=two',
        'operator.defaultTrustedProxies={10.0.0.0/8,fd00::/8}',
        'operator.podDisruptionBudgets=false',
        'operator.networkPolicies=true',
        'operator.resources.limits.memory=1Gi',
        'operator.env[0].name=HTTPS_PROXY',
        'operator.env[0].value=http://proxy:3128',
      ]),
    );
    expect(environment).toEqual({
      DEFAULT_IMAGE_PULL_SECRETS: 'one,two',
      DEFAULT_TRUSTED_PROXIES: '10.0.0.0/8,fd00::/8',
      GATEWAY_IMAGE: 'registry.example/gateway:1',
      HTTPS_PROXY: 'http://proxy:3128',
      IMAGE_PULL_POLICY: 'Always',
      LEASE_NAME: 'vmcp-operator',
      NETWORK_POLICIES: 'true',
      NODE_OPTIONS: '--max-old-space-size=768',
      POD_DISRUPTION_BUDGETS: 'false',
      POD_NAME: undefined,
      POD_NAMESPACE: undefined,
      POD_SERVICE_ACCOUNT: undefined,
    });
  });

  test('a release with a name of its own has its own Lease', async () => {
    const objects = await render('vmcp', ['fullnameOverride=team-a', 'operator.leaderElectionRole.name=election']);
    expect(environmentOf(objects)['LEASE_NAME']).toBe('team-a');
    const role = objects.find(({ kind, metadata }) => kind === 'Role' && metadata.name === 'election');
    expect(role?.rules?.flatMap(({ resourceNames = [] }) => resourceNames)).toEqual(['team-a']);
  });

  test('accepts null for optional values', async () => {
    const objects = await render('vmcp', ['operator.resources=null', 'operator.livenessProbe=null']);
    expect(environmentOf(objects)['NODE_OPTIONS']).toBeUndefined();
  });

  test.each([
    ['operator.rbac.scope=everywhere', '/operator/rbac/scope'],
    ['operator.registryAPI=true', "additional properties 'registryAPI'"],
    ['operator.port=80', '/operator/port'],
    ['enabled=false', 'condition of an umbrella chart'],
    ['enabled=maybe', '/enabled'],
    ['operator.podDisruptionBudget.enabled=maybe', '/operator/podDisruptionBudget/enabled'],
    ['operator.podDisruptionBudget.minAvailable=1.5', '/operator/podDisruptionBudget/minAvailable'],
    ['operator.topologySpreadConstraints[0].maxSkew=1', '/operator/topologySpreadConstraints/0'],
    ['operator.image=', '/operator/image'],
    ['operator.gatewayImage=null', "missing property 'gatewayImage'"],
    ['operator.podDisruptionBudgets=null', "missing property 'podDisruptionBudgets'"],
    ['monitoring.serviceMonitor=null', "missing property 'serviceMonitor'"],
    ['nameOverride=my.vmcp', '/nameOverride'],
    ['fullnameOverride=1vmcp', '/fullnameOverride'],
    ['operator.rbac.allowedNamespaces={Upper}', '/operator/rbac/allowedNamespaces/0'],
    ['operator.env[0].name=GATEWAY_IMAGE', 'operator.env: GATEWAY_IMAGE is set by the chart'],
    ['operator.serviceAccount.create=false', 'operator.serviceAccount.name'],
  ])('rejects %s and names the field', async (value, where) => {
    const { code, stderr } = await template('vmcp', [value]);
    expect(code).not.toBe(0);
    expect(stderr).toContain(where);
  });
});

describe.skipIf(helm === undefined)('an umbrella chart that depends on both charts', () => {
  /** Renders an umbrella chart with conditions of the dependencies, and these values. */
  async function umbrella(values: object, ...sets: string[]): Promise<string[]> {
    const folder = await temporaryFolder(testScope());
    const { version } = parse(await readFile(join(chartFolder('vmcp'), 'Chart.yaml'), 'utf8')) as { version: string };
    const dependencies = ['vmcp', 'vmcp-crds'].map((name) => ({
      name,
      version,
      repository: `file://${chartFolder(name)}`,
      condition: `${name}.enabled`,
    }));
    const chart = { apiVersion: 'v2', name: 'platform', version: '1.0.0', dependencies };
    await writeFiles(folder, { 'Chart.yaml': JSON.stringify(chart), 'values.yaml': JSON.stringify(values) });
    await run(helm ?? '', ['dependency', 'update', '--skip-refresh', folder]);
    const { code, stdout, stderr } = await template(folder, sets, {}, 'platform');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return namesOf(parseObjects(stdout));
  }

  test('turns them on and off by `enabled`, and may have global values', async () => {
    const values = {
      global: { imageRegistry: 'registry.example' },
      vmcp: { enabled: true },
      'vmcp-crds': { enabled: false },
    };
    const names = await umbrella(values);
    expect(names).toContain('Deployment vmcp-system/vmcp-operator');
    expect(names.filter((name) => name.startsWith('CustomResourceDefinition'))).toEqual([]);
    const crdsOnly = await umbrella(values, 'vmcp.enabled=false', 'vmcp-crds.enabled=true');
    expect(crdsOnly).toContain('CustomResourceDefinition /mcpservers.vmcp.dev');
    expect(crdsOnly).not.toContain('Deployment vmcp-system/vmcp-operator');
  });
});

describe.skipIf(helm === undefined)('chart vmcp-crds', () => {
  const generated = async (): Promise<Rendered[]> => {
    const files = (await readdir(join(root, 'crds'))).filter((file) => file.endsWith('.yaml'));
    return Promise.all(files.map(async (file) => parse(await readFile(join(root, 'crds', file), 'utf8')) as Rendered));
  };

  test('installs exactly the generated CRDs, and keeps them on uninstall', async () => {
    const kept = (await generated()).map((crd) => ({
      ...crd,
      metadata: { ...crd.metadata, annotations: { 'helm.sh/resource-policy': 'keep' } },
    }));
    expect(new Map((await render('vmcp-crds')).map((crd) => [crd.metadata.name, crd]))).toEqual(
      new Map(kept.map((crd) => [crd.metadata.name, crd])),
    );
  });

  test('its notes delete the resources, then the operator, then the kinds', async () => {
    const notes = await readFile(join(chartFolder('vmcp-crds'), 'templates', 'NOTES.txt'), 'utf8');
    const steps = ['kubectl delete mcp --all --all-namespaces', 'uninstall the operator', 'xargs kubectl delete'];
    const places = steps.map((step) => notes.indexOf(step));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  test('crds.keep false removes the annotation, crds.install false removes everything', async () => {
    expect(await render('vmcp-crds', ['crds.keep=false'])).toEqual(expect.arrayContaining(await generated()));
    expect(await render('vmcp-crds', ['crds.install=false'])).toEqual([]);
    expect(await template('vmcp-crds', ['enabled=false'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('condition of an umbrella chart') as unknown,
    });
  });
});
