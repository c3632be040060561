import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { patchTemplate } from './patch.ts';
import type { JsonObject } from '../../../gateway/contract/json.ts';

const OBJECT = { kind: 'MCPServer', namespace: 'tools', name: 'jira' };
const KEPT = { selector: { app: 'x' }, annotations: {}, containers: ['mcp'] };

const TEMPLATE = `
metadata: { labels: { app: x } }
spec:
  containers:
    - name: mcp
      image: a
      args: [one, two]
      env: [{ name: A, value: '1' }, { name: B, value: '2' }]
      ports: [{ containerPort: 53, protocol: TCP, name: dns }]
      volumeMounts: [{ mountPath: /a, name: a }]
  volumes: [{ name: a, emptyDir: {} }]
`;

const patched = (patch: string) =>
  patchTemplate(parse(TEMPLATE) as JsonObject, parse(patch) as JsonObject, KEPT, OBJECT);

/** Returns the pod spec, or its container `mcp`, after a patch. */
function pod(patch: string): JsonObject {
  const result = patched(`spec: ${patch}`);
  if ('problems' in result) throw new Error(JSON.stringify(result.problems));
  return result.template['spec'] as JsonObject;
}
function container(patch: string): JsonObject {
  const { containers } = pod(`{ containers: [{ name: mcp, ${patch} }] }`);
  return (containers as JsonObject[]).find(({ name }) => name === 'mcp') ?? {};
}
const problems = (patch: string): string[] => {
  const result = patched(patch);
  return 'problems' in result ? result.problems.map(({ path, message }) => `${path}: ${message}`) : [];
};

describe('a patch of a pod template', () => {
  it('sets missing fields and replaces existing ones', () => {
    expect(container('image: b, workingDir: /w')).toMatchObject({ image: 'b', workingDir: '/w', args: ['one', 'two'] });
  });

  it('removes a field with null', () => {
    expect(container('args: null')).not.toHaveProperty('args');
    expect(container('command: null')).not.toHaveProperty('command');
  });

  it('replaces a list without keys as a whole', () => {
    expect(container('args: [three]')['args']).toEqual(['three']);
    expect(pod('{ tolerations: [{ key: a }] }')['tolerations']).toEqual([{ key: 'a' }]);
  });

  it('merges a list by its key and appends new items', () => {
    expect(container('env: [{ name: C, value: "3" }, { name: A, value: "4" }]')['env']).toEqual([
      { name: 'A', value: '4' },
      { name: 'B', value: '2' },
      { name: 'C', value: '3' },
    ]);
  });

  it('distinguishes ports by protocol too, TCP when absent', () => {
    expect(
      container('ports: [{ containerPort: 53, protocol: UDP }, { containerPort: 53, name: tcp }]')['ports'],
    ).toEqual([
      { containerPort: 53, protocol: 'TCP', name: 'tcp' },
      { containerPort: 53, protocol: 'UDP' },
    ]);
  });

  it('removes an item with $patch: delete, and nothing when it does not exist', () => {
    expect(container('env: [{ name: A, $patch: delete }, { name: Z, $patch: delete }]')['env']).toEqual([
      { name: 'B', value: '2' },
    ]);
  });

  it('replaces a list with $patch: replace, also by an empty one', () => {
    expect(container('env: [{ $patch: replace }, { name: Z, value: "1" }]')['env']).toEqual([
      { name: 'Z', value: '1' },
    ]);
    expect(container('env: [{ $patch: replace }]')).not.toHaveProperty('env');
  });

  it('replaces an object with $patch: replace, also in a list', () => {
    expect(container('$patch: replace, image: b')).toEqual({ name: 'mcp', image: 'b' });
  });

  it('deletes an object with $patch: delete', () => {
    expect(pod('{ volumes: [{ name: a, emptyDir: { $patch: delete }, hostPath: { path: /a } }] }')['volumes']).toEqual([
      { name: 'a', hostPath: { path: '/a' } },
    ]);
  });

  it('keeps only the members that $retainKeys names', () => {
    expect(container('$retainKeys: [name, image, args], image: b')).toEqual({
      name: 'mcp',
      image: 'b',
      args: ['one', 'two'],
    });
  });

  it('removes values from a list of primitives', () => {
    expect(container('$deleteFromPrimitiveList/args: [one]')['args']).toEqual(['two']);
    expect(container('$deleteFromPrimitiveList/args: [one, two]')).not.toHaveProperty('args');
  });

  it('orders a list by $setElementOrder and keeps other items in place', () => {
    const order = '$setElementOrder/env: [{ name: C }, { name: A }], env: [{ name: C, value: "3" }]';
    expect(container(order)['env']).toEqual([
      { name: 'C', value: '3' },
      { name: 'B', value: '2' },
      { name: 'A', value: '1' },
    ]);
  });

  it('replaces one source by another', () => {
    expect(pod('{ volumes: [{ name: a, secret: { secretName: s } }] }')['volumes']).toEqual([
      { name: 'a', secret: { secretName: 's' } },
    ]);
    expect(
      container('env: [{ name: A, valueFrom: { fieldRef: { fieldPath: metadata.name } } }]')['env'],
    ).toContainEqual({
      name: 'A',
      valueFrom: { fieldRef: { fieldPath: 'metadata.name' } },
    });
  });

  it('returns the template as the API server does', () => {
    const patch =
      'tty: false, stdin: false, env: [{ $patch: replace }, { name: E, value: "" }], resources: { limits: { cpu: 0.5, memory: 1024Mi }, requests: {} }, livenessProbe: { initialDelaySeconds: 0, exec: { command: [a, ""] } }, securityContext: { privileged: false }';
    expect(container(patch)).toMatchObject({
      env: [{ name: 'E' }],
      resources: { limits: { cpu: '500m', memory: '1Gi' } },
      livenessProbe: { exec: { command: ['a', ''] } },
      securityContext: { privileged: false },
    });
    for (const member of ['tty', 'stdin']) expect(container(patch)).not.toHaveProperty(member);
    expect(container(patch)['livenessProbe']).not.toHaveProperty('initialDelaySeconds');
    expect(container(patch)['resources']).not.toHaveProperty('requests');
  });

  it.each([
    ['a value that is not an object', '[]', 'spec.podTemplateSpec: must be an object'],
    [
      'an unknown member',
      'replicas: 3',
      'spec.podTemplateSpec.replicas: PodTemplateSpec has no such field: correct the name or remove it',
    ],
    [
      'metadata without effect',
      'metadata: { ownerReferences: [] }',
      'spec.podTemplateSpec.metadata.ownerReferences: ObjectMeta has no such field: correct the name or remove it',
    ],
    ['null in a list', 'spec: { tolerations: [null] }', 'spec.podTemplateSpec.spec.tolerations[0]: must be an object'],
    [
      'two items with one key',
      'spec: { volumes: [{ name: b }, { name: b }] }',
      'spec.podTemplateSpec.spec.volumes[1]: has the same name as an item before it: remove one',
    ],
    [
      'a fraction',
      'spec: { priority: 1.5 }',
      'spec.podTemplateSpec.spec.priority: must be a whole number, without quotes',
    ],
    [
      'a directive for objects on a list of them',
      'spec: { $deleteFromPrimitiveList/volumes: [a] }',
      'spec.podTemplateSpec.spec.$deleteFromPrimitiveList/volumes: the items of this list are objects: write {$patch: delete} into the item instead',
    ],
    [
      'a directive that is not a list',
      'spec: { $retainKeys: a }',
      'spec.podTemplateSpec.spec.$retainKeys: must be a list',
    ],
    [
      'a directive that names an unknown field',
      'spec: { $retainKeys: [volume] }',
      'spec.podTemplateSpec.spec.$retainKeys[0]: must name a field',
    ],
    ['an unknown directive', 'spec: { $merge: a }', 'spec.podTemplateSpec.spec.$merge: must be a list'],
    [
      'a map with an invalid directive',
      'spec: { nodeSelector: { $patch: no } }',
      'spec.podTemplateSpec.spec.nodeSelector.$patch: must be delete, replace or merge',
    ],
    [
      'a patch that removes all labels',
      'metadata: { labels: { $patch: replace, a: b } }',
      'spec.podTemplateSpec.metadata.labels.app: cannot be changed or removed, it selects the pods: remove it from the patch',
    ],
    [
      'a patch that removes everything',
      '$patch: delete',
      'spec.podTemplateSpec.metadata.labels.app: cannot be changed or removed, it selects the pods: remove it from the patch',
      'spec.podTemplateSpec.spec.containers: container "mcp" cannot be removed: correct the patch',
    ],
  ])('rejects %s', (_what, patch, ...messages) => {
    expect(problems(patch)).toEqual(messages);
  });

  it('modifies neither the template nor the patch', () => {
    const template = parse(TEMPLATE) as JsonObject;
    const patch = parse('spec: { containers: [{ name: mcp, env: [{ name: A, $patch: delete }] }] }') as JsonObject;
    const before = JSON.stringify([template, patch]);
    patchTemplate(template, patch, KEPT, OBJECT);
    expect(JSON.stringify([template, patch])).toBe(before);
  });
});

describe('a patch that Kubernetes would reject', () => {
  it.each([
    ['spec: { dnsPolicy: clusterFirst }', /^spec\.podTemplateSpec\.spec\.dnsPolicy: must be one of ClusterFirst, /u],
    ['spec: { nodeSelektor: { a: b } }', /nodeSelektor: PodSpec has no such field: did you mean nodeSelector\?$/u],
    ['spec: { containers: [{ name: mpc }] }', /container "mpc" has no image/u],
    ['spec: { containers: [{ name: Side_Car, image: a }] }', /"Side_Car" cannot name a container/u],
    ['spec: { volumes: [{ name: My Data, emptyDir: {} }] }', /"My Data" cannot name a volume/u],
    ['spec: { initContainers: [{ name: x, image: a, volumeMounts: [{ name: b, mountPath: /b }] }] }', /volume "b"/u],
    ['spec: { volumes: [{ name: a, $patch: delete }] }', /container "mcp" mounts the volume "a"/u],
    [
      'spec: { containers: [{ name: mcp, resources: { limits: { cpu: 500m }, requests: { cpu: 1 } } }] }',
      /container "mcp": the request for cpu is above its limit, 500m/u,
    ],
    ['spec: { containers: [{ name: mcp, securityContext: { runAsUser: -1 } }] }', /runAsUser must not be negative/u],
    ['metadata: { labels: { team: "a b" } }', /metadata\.labels\.team: must be empty, or at most 63/u],
    ['metadata: { annotations: { "a b": c } }', /metadata\.annotations\.a b: must be a name/u],
  ])('names the place: %s', (patch, expected) => {
    expect(problems(patch)).toEqual([expect.stringMatching(expected)]);
  });

  it('reports no contradiction that the template has without it', () => {
    const template = parse(TEMPLATE.replace('image: a', 'image: ""')) as JsonObject;
    expect(patchTemplate(template, { spec: { hostname: 'a' } }, KEPT, OBJECT)).toHaveProperty('template');
  });
});
