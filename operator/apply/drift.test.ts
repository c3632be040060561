import { describe, expect, it } from 'vitest';
import { drift } from './drift.ts';

const paths = (desired: unknown, live: unknown) => drift(desired, live).map(({ path }) => path);

/** An object as rendered, and as an API server returns it, with defaults and fields of others. */
const desired = {
  metadata: { name: 'vmcp-a', labels: { app: 'a' }, ownerReferences: [{ uid: 'u', controller: true }] },
  spec: {
    selector: { matchLabels: { app: 'a' } },
    template: {
      spec: {
        containers: [
          {
            name: 'vmcp',
            image: 'gateway:1',
            args: ['gateway', '--port', '4483'],
            env: [{ name: 'VMCP_NAME', value: 'a' }],
            ports: [{ name: 'http', containerPort: 4483 }],
            volumeMounts: [{ name: 'config', mountPath: '/etc/vmcp/config' }],
            securityContext: { runAsNonRoot: true, capabilities: { drop: ['ALL'] } },
          },
        ],
        volumes: [
          { name: 'config', projected: { sources: [{ secret: { name: 's', items: [{ key: 'k', path: 'k' }] } }] } },
        ],
        tolerations: [{ key: 'a', operator: 'Exists' }],
      },
    },
  },
};
function live(change: (object: typeof desired) => void = () => undefined): unknown {
  const object = structuredClone(desired);
  const pod = object.spec.template.spec as Record<string, unknown> & typeof object.spec.template.spec;
  Object.assign(object, { status: { replicas: 1 } });
  Object.assign(object.spec, { replicas: 3, progressDeadlineSeconds: 600 });
  Object.assign(object.metadata.labels, { 'team.example': 'x' });
  Object.assign(object.metadata, { annotations: { 'kubectl.kubernetes.io/restartedAt': 'now' } });
  object.metadata.ownerReferences.unshift({ uid: 'other', controller: false });
  Object.assign(pod, { dnsPolicy: 'ClusterFirst' });
  const [container] = pod.containers;
  Object.assign(container!, { imagePullPolicy: 'IfNotPresent', terminationMessagePath: '/dev/termination-log' });
  Object.assign(container!.ports[0]!, { protocol: 'TCP' });
  container!.env.unshift({ name: 'INJECTED', value: 'x' });
  pod.containers.unshift({ ...structuredClone(container!), name: 'istio-proxy' });
  pod.volumes.unshift({ ...pod.volumes[0]!, name: 'istio-data' });
  Object.assign(pod.volumes[1]!.projected, { defaultMode: 420 });
  change(object);
  return object;
}
const container = (object: typeof desired) => object.spec.template.spec.containers.find(({ name }) => name === 'vmcp')!;

describe('drift', () => {
  it('ignores defaults of the API server and fields of other managers', () => {
    expect(paths(desired, live())).toEqual([]);
  });

  it.each<[string, (object: typeof desired) => void, string]>([
    ['a changed image', (object) => (container(object).image = 'evil:1'), 'spec.template.spec.containers[vmcp].image'],
    [
      'a changed value of an environment variable',
      (object) => (container(object).env.find(({ name }) => name === 'VMCP_NAME')!.value = 'b'),
      'spec.template.spec.containers[vmcp].env[VMCP_NAME].value',
    ],
    [
      'a missing environment variable',
      (object) => (container(object).env = [{ name: 'INJECTED', value: 'x' }]),
      'spec.template.spec.containers[vmcp].env[VMCP_NAME]',
    ],
    [
      'an extra argument',
      (object) => container(object).args.push('--debug'),
      'spec.template.spec.containers[vmcp].args',
    ],
    [
      'a changed argument',
      (object) => (container(object).args[2] = '80'),
      'spec.template.spec.containers[vmcp].args[2]',
    ],
    [
      'a changed port name',
      (object) => (container(object).ports[0]!.name = 'web'),
      'spec.template.spec.containers[vmcp].ports[4483].name',
    ],
    [
      'a changed security setting',
      (object) => (container(object).securityContext.runAsNonRoot = false),
      'spec.template.spec.containers[vmcp].securityContext.runAsNonRoot',
    ],
    [
      'a missing block',
      (object) => delete (container(object) as Partial<ReturnType<typeof container>>).securityContext,
      'spec.template.spec.containers[vmcp].securityContext',
    ],
    [
      'an extra item of a list that is compared as a whole',
      (object) => object.spec.template.spec.tolerations.push({ key: 'b', operator: 'Exists' }),
      'spec.template.spec.tolerations',
    ],
    [
      'a changed name of a mounted Secret',
      (object) =>
        (object.spec.template.spec.volumes.find(({ name }) => name === 'config')!.projected.sources[0]!.secret.name =
          'x'),
      'spec.template.spec.volumes[config].projected.sources[0].secret.name',
    ],
    ['a changed label', (object) => (object.metadata.labels.app = 'b'), 'metadata.labels.app'],
    ['a missing owner reference', (object) => object.metadata.ownerReferences.splice(0), 'metadata.ownerReferences[u]'],
  ])('finds %s', (_, change, path) => {
    expect(paths(desired, live(change))).toEqual([path]);
  });

  it('reports every field of a missing object', () => {
    expect(drift({ data: { a: '1' } }, undefined)).toEqual([{ path: '', live: undefined }]);
    expect(paths({ data: { a: '1', b: '2' } }, { data: {} })).toEqual(['data.a', 'data.b']);
    expect(paths({ data: { a: '1' } }, { data: null })).toEqual(['data']);
  });

  it('treats an empty list as missing and ignores fields that are not desired', () => {
    expect(paths({ args: [], replicas: undefined }, { replicas: 4 })).toEqual([]);
    expect(paths({ args: [] }, { args: ['x'] })).toEqual(['args']);
    expect(paths({ finalizers: ['a'] }, { finalizers: ['b', 'a'] })).toEqual([]);
    expect(paths({ finalizers: ['a'] }, { finalizers: ['b'] })).toEqual(['finalizers']);
  });

  it('reports additions to selectors and rules', () => {
    expect(paths({ spec: { selector: { a: 'b' } } }, { spec: { selector: { a: 'b', c: 'd' } } })).toEqual([
      'spec.selector.c',
    ]);
    expect(paths({ podSelector: {} }, { podSelector: { matchLabels: { a: 'b' } } })).toEqual([
      'podSelector.matchLabels',
    ]);
    const rules = [{ resources: ['pods'], verbs: ['get'] }];
    expect(paths({ rules }, { rules: [{ ...rules[0], resourceNames: ['a'] }] })).toEqual(['rules[0].resourceNames']);
    expect(paths({ rules }, { rules: [{ ...rules[0], resourceNames: [] }] })).toEqual([]);
    const ingress = [{ ports: [{ port: 80, protocol: 'TCP' }] }];
    expect(paths({ ingress }, { ingress: [{ ports: [{ port: 80, protocol: 'TCP', endPort: 99 }] }] })).toEqual([
      'ingress[0].ports[0].endPort',
    ]);
    expect(paths({ spec: { replicas: 1 } }, { spec: { replicas: 1, paused: true } })).toEqual([]); // field of another manager
  });

  it('distinguishes the ports of a Service by number and protocol', () => {
    const ports = [
      { port: 53, protocol: 'UDP', targetPort: 1 },
      { port: 53, protocol: 'TCP', targetPort: 2 },
    ];
    expect(paths({ ports }, { ports: ports.toReversed().map((port) => ({ ...port, nodePort: 30_000 })) })).toEqual([]);
    expect(paths({ ports }, { ports: ports.slice(0, 1) })).toEqual(['ports[53,TCP]']);
  });
});
