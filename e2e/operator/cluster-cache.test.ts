import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { KubeClient } from '../../gateway/kube/client.ts';
import type { Connection } from '../../gateway/kube/connection.ts';
import { apiVersionOf, ownType, RESOURCES, type KubeObject, type ResourceType } from '../../gateway/kube/resource.ts';
import { OWNED_TYPES } from '../../operator/apply/owned.ts';
import { defaultConnection } from '../../operator/source/kube/kube-config.ts';
import { startClusterCache, type ClusterCache } from '../../operator/source/kube/cluster-cache.ts';
import { adminKubeconfigOf, startControlPlane, type ControlPlane } from '../harness/control-plane/control-plane.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope } from '../harness/scope.ts';

const API = 'vmcp.dev/v1alpha1';
const LABELS = { 'app.kubernetes.io/managed-by': 'vmcp-operator' };
let count = 0;

interface Seen {
  readonly client: KubeClient;
  readonly cache: ClusterCache;
  readonly namespace: string;
  /** Changes in the namespace, in order, such as `Secret +s`. */
  readonly changes: string[];
  readonly log: string[];
  put(kind: string, name: string, rest?: object, metadata?: object): Promise<KubeObject>;
}

/** A control plane without an operator, which would change the objects of the tests. */
const scope = blockScope();
let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane(scope);
});

const asAdmin = (): Promise<Connection> =>
  defaultConnection({ KUBECONFIG: adminKubeconfigOf(plane) }, () => performance.now());

/** Starts a cache and creates a namespace. */
async function look(
  connect: (namespace: string, admin: KubeClient) => Promise<Connection> = asAdmin,
  all = true,
): Promise<Seen> {
  count += 1;
  const namespace = `cache-${String(process.pid)}-${String(count)}`;
  const client = new KubeClient(await asAdmin());
  const namespaceObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
  await client.create(RESOURCES.Namespace, undefined, namespaceObject);
  const changes: string[] = [];
  const log: string[] = [];
  const onChange = (type: ResourceType, previous?: KubeObject, current?: KubeObject) => {
    const metadata = (current ?? previous)?.metadata;
    if (metadata?.namespace !== namespace) return;
    changes.push(`${type.kind} ${previous && current ? '~' : current ? '+' : '-'}${metadata.name}`);
  };
  const line = (message: string, fields: object) => log.push(JSON.stringify({ message, ...fields }));
  const eyes = new KubeClient(await connect(namespace, client));
  const cache = startClusterCache({
    client: eyes,
    namespaces: all ? 'all' : [namespace],
    ownedTypes: OWNED_TYPES,
    events: { onChange },
    log: { debug: () => undefined, info: line, warn: line, error: line },
    now: () => performance.now(),
    random: Math.random,
  });
  onTestFinished(async () => {
    await cache.close();
    await client.delete(RESOURCES.Namespace, undefined, namespace);
    await Promise.all([client.close(), eyes.close()]);
  });
  await cache.synced;
  const put: Seen['put'] = (kind, name, rest = {}, metadata = {}) => {
    const apiVersion = apiVersionOf(
      new Map<string, ResourceType>(Object.entries(RESOURCES)).get(kind) ?? ownType(kind),
    );
    return client.apply(
      { apiVersion, kind, metadata: { name, namespace, ...metadata }, ...rest },
      { fieldManager: 'test', force: true },
    );
  };
  return { client, cache, namespace, changes, log, put };
}

const headerInjection = (secret: string, key: string) => ({
  spec: { type: 'headerInjection', headerInjection: { headerName: 'X-Key', valueSecretRef: { name: secret, key } } },
});
const caEntry = (key: string) => ({
  spec: {
    remoteUrl: 'https://mcp.example.com/mcp',
    transport: 'streamable-http',
    groupRef: { name: 'g' },
    caBundleRef: { configMapRef: { name: 'ca', key } },
  },
});

describe('cache', () => {
  it('has custom resources, their references and their deletion', async () => {
    const { cache, namespace, put, client, changes } = await look();
    // Each kind has its own watch: events of two kinds arrive in any order.
    await put('MCPGroup', 'g');
    await eventually('the group', () => cache.snapshot(namespace).groups.has('g'));
    await put('MCPServerEntry', 'e', caEntry('a.crt'));
    await eventually('the entry', () => cache.snapshot(namespace).entries.has('e'));
    const group = { kind: 'MCPGroup', namespace, name: 'g' };
    const entry = { kind: 'MCPServerEntry', namespace, name: 'e' };
    expect(cache.referrersOf(group)).toEqual([entry]);
    expect(cache.targetsOf(entry)).toContainEqual(group);
    expect(cache.refsIn(namespace)).toEqual(expect.arrayContaining([group, entry]));
    expect(cache.raw(ownType('MCPGroup'), namespace, 'g')?.metadata).not.toHaveProperty('managedFields');
    const before = cache.snapshot(namespace);
    expect(cache.snapshot(namespace)).toBe(before);
    await client.delete(ownType('MCPServerEntry'), namespace, 'e');
    await eventually('its end', () => !cache.snapshot(namespace).entries.has('e'));
    expect(before.entries.has('e')).toBe(true);
    expect(cache.referrersOf(group)).toEqual([]);
    expect(changes).toEqual(['MCPGroup +g', 'MCPServerEntry +e', 'MCPServerEntry -e']);
  });

  it('has the keys of a referenced Secret, and never a value', async () => {
    const { cache, namespace, put, client, changes, log } = await look();
    await put('Secret', 'other', { stringData: { k: 'canary-other' } });
    await put('MCPExternalAuthConfig', 'a', headerInjection('s', 'k'));
    await eventually('the reference', () => changes.length === 1);
    await put('Secret', 's', { stringData: { k: 'canary-1' } }, { annotations: { note: 'canary-annotation' } });
    const keys = () => cache.snapshot(namespace).secrets.get('s')?.keys;
    await eventually('the Secret', () => keys()?.join() === 'k');
    const version = cache.snapshot(namespace).secrets.get('s')?.version;
    await put('Secret', 's', { stringData: { k: 'canary-2', l: 'canary-3' } });
    await eventually('another key', () => keys()?.join() === 'k,l');
    expect(cache.snapshot(namespace).secrets.get('s')?.version).not.toBe(version);
    await client.delete(RESOURCES.Secret, namespace, 's');
    await eventually('its end', () => keys() === undefined && changes.at(-1) === 'Secret -s');
    const snapshot = cache.snapshot(namespace);
    expect(snapshot.secrets.size).toBe(0);
    expect(changes).toEqual(['MCPExternalAuthConfig +a', 'Secret +s', 'Secret ~s', 'Secret -s']);
    const kept = [...Object.values(snapshot).map((each) => JSON.stringify([...(each as Iterable<unknown>)])), ...log];
    expect(kept.join()).not.toContain('canary');
  });

  it('has newly referenced objects after `referencesReady`, and removes unreferenced ones', async () => {
    const { cache, namespace, put, changes, client } = await look();
    await put('Secret', 's', { stringData: { k: 'v' } });
    await eventually('the identity', () => cache.referencesReady(namespace).then(() => true));
    await put('MCPExternalAuthConfig', 'a', headerInjection('s', 'k'));
    await eventually('the reference', () => changes.includes('MCPExternalAuthConfig +a'), { intervalMs: 1 });
    await cache.referencesReady(namespace);
    expect(cache.snapshot(namespace).secrets.get('s')?.keys).toEqual(['k']);
    await client.delete(ownType('MCPExternalAuthConfig'), namespace, 'a');
    await eventually('its end', () => changes.includes('MCPExternalAuthConfig -a'));
    expect(cache.snapshot(namespace).secrets.size).toBe(0);
    expect(changes.filter((change) => change.startsWith('Secret'))).toEqual([]);
  });

  it('keeps the referenced values of a ConfigMap and the names of all keys', async () => {
    const { cache, namespace, put } = await look();
    await put('ConfigMap', 'ca', { data: { 'a.crt': 'A', 'b.crt': 'B' } });
    await put('MCPServerEntry', 'e', caEntry('a.crt'));
    const data = () => cache.snapshot(namespace).configMaps.get('ca')?.data;
    await eventually('the ConfigMap', () => data() !== undefined);
    expect(data()).toEqual({ 'a.crt': 'A', 'b.crt': '' });
    await put('MCPServerEntry', 'f', caEntry('b.crt'));
    await eventually('the other value', () => data()?.['b.crt'] === 'B');
    await put('ConfigMap', 'ca', { data: { 'a.crt': 'A2', 'b.crt': 'B' } });
    await eventually('the new value', () => data()?.['a.crt'] === 'A2');
  });

  it('has objects of other kinds that the operator created, by owner', async () => {
    const { cache, namespace, put } = await look();
    const group = await put('MCPGroup', 'g');
    const uid = group.metadata.uid ?? '';
    const ownerReferences = [{ apiVersion: API, kind: 'MCPGroup', name: 'g', uid, controller: true }];
    await put('ConfigMap', 'mine', { data: { x: '1' } }, { labels: LABELS, ownerReferences });
    await put('ConfigMap', 'foreign', { data: { x: '1' } });
    const owned = () => cache.owned(RESOURCES.ConfigMap, namespace, uid);
    await eventually('the ConfigMap', () => owned().length === 1);
    expect(owned()[0]).toBe(cache.raw(RESOURCES.ConfigMap, namespace, 'mine'));
    expect(owned()[0]).toMatchObject({ data: { x: '1' } });
    expect(cache.raw(RESOURCES.ConfigMap, namespace, 'foreign')).toBeUndefined();
    expect(cache.owned(RESOURCES.Service, namespace, uid)).toEqual([]);
    // An object without the label of the operator counts as deleted.
    await put('ConfigMap', 'mine', { data: { x: '1' } }, { labels: {}, ownerReferences });
    await eventually('nothing owned', () => owned().length === 0);
  });

  it('knows that a namespace is being deleted', async () => {
    const { cache, namespace, client, put } = await look();
    await put('MCPGroup', 'g', {}, { finalizers: ['example.com/wait'] });
    expect(cache.namespaceIsTerminating(namespace)).toBe(false);
    await client.delete(RESOURCES.Namespace, undefined, namespace);
    await eventually('the news', () => cache.namespaceIsTerminating(namespace));
    await client.mergePatch(ownType('MCPGroup'), namespace, 'g', { metadata: { finalizers: null } });
  });

  it('needs rights in the watched namespaces only', async () => {
    const seen = await look(serviceAccountOf, false);
    await seen.put('MCPExternalAuthConfig', 'a', headerInjection('s', 'k'));
    await seen.put('Secret', 's', { stringData: { k: 'v' } });
    await eventually('the Secret', () => seen.cache.snapshot(seen.namespace).secrets.has('s'));
    expect(seen.cache.namespaceIsTerminating(seen.namespace)).toBe(false);
    expect(seen.log).toEqual([]);
  });
});

/** Connects as a ServiceAccount that can read its own namespace only. */
async function serviceAccountOf(namespace: string, admin: KubeClient): Promise<Connection> {
  const name = 'operator';
  const metadata = { name, namespace };
  const read = { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch'] };
  const rbac = 'rbac.authorization.k8s.io/v1';
  await admin.create(RESOURCES.ServiceAccount, namespace, { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
  await admin.create(RESOURCES.Role, namespace, { apiVersion: rbac, kind: 'Role', metadata, rules: [read] });
  await admin.create(RESOURCES.RoleBinding, namespace, {
    apiVersion: rbac,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  });
  const tokens = { group: '', version: 'v1', kind: 'TokenRequest', plural: `serviceaccounts/${name}/token` };
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: { name }, spec: {} };
  const { status } = await admin.create(tokens, namespace, request);
  const connection = await asAdmin();
  await connection.authorization();
  const { ca } = connection.tls();
  const tls = ca === undefined ? {} : { ca };
  const own: Connection = {
    ...connection,
    tls: () => tls,
    authorization: () => Promise.resolve(`Bearer ${(status as { token: string }).token}`),
  };
  // The API server reads new Roles a moment later.
  const client = new KubeClient(own);
  onTestFinished(() => client.close());
  await eventually('the account may read', () => client.list(RESOURCES.Secret, { namespace }));
  return own;
}
