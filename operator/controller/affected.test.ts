import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import { references } from '../resolve/references.ts';
import type { Resource } from '../resolve/snapshot.ts';
import { affected, type Change, type Lookups } from './affected.ts';

const NS = 'team';
const own = (kind: string, name: string, spec: object = {}, metadata: object = {}): KubeObject => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind,
  metadata: { namespace: NS, name, uid: `${kind}-${name}`, generation: 1, resourceVersion: '5', ...metadata },
  spec,
});
const vmcp = (name: string, group: string, spec: object = {}) =>
  own('VirtualMCPServer', name, { groupRef: { name: group }, ...spec });
const server = (name: string, group: string, spec: object = {}, metadata: object = {}) =>
  own('MCPServer', name, { groupRef: { name: group }, ...spec }, metadata);
const entry = (name: string, group: string, spec: object = {}) =>
  own('MCPServerEntry', name, { groupRef: { name: group }, ...spec });
const data = (kind: 'Secret' | 'ConfigMap', name: string, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { namespace: NS, name, uid: `${kind}-${name}`, resourceVersion: '7', ...metadata },
});

/** Look-ups over plain objects, as the index of the source answers them. */
function lookupsOver(objects: readonly KubeObject[]): Lookups {
  const refOf = ({ kind, metadata }: KubeObject) => ({ kind, namespace: NS, name: metadata.name });
  const named = (object: KubeObject) => references(object as unknown as Resource);
  return {
    referrersOf: ({ kind, name }) =>
      objects.filter((each) => named(each).some((to) => to.target === kind && to.name === name)).map(refOf),
    groupsOf: ({ kind, name }) =>
      objects
        .filter((each) => each.kind === kind && each.metadata.name === name)
        .flatMap(named)
        .filter(({ target }) => target === 'MCPGroup')
        .map(({ name: group }) => group),
    keysIn: (namespace) => (namespace === NS ? objects.map(refOf) : []),
  };
}

const WORLD = [
  own('MCPGroup', 'g1'),
  own('MCPGroup', 'g2'),
  own('MCPOIDCConfig', 'oidc', { inline: { clientSecretRef: { name: 'oidc-secret', key: 'k' } } }),
  own('MCPExternalAuthConfig', 'auth', { tokenExchange: { clientSecretRef: { name: 'auth-secret', key: 'k' } } }),
  vmcp('v1', 'g1', { incomingAuth: { oidcConfigRef: { name: 'oidc' } } }),
  vmcp('v2', 'g2'),
  server('s1', 'g1', { externalAuthConfigRef: { name: 'auth' } }),
  server('s2', 'g2', { secrets: [{ name: 'env-secret', key: 'k' }] }),
  entry('e1', 'g2', { caBundleRef: { configMapRef: { name: 'bundle' } } }),
  own('MCPServer', 'alone', { externalAuthConfigRef: { name: 'auth' } }),
];
const find = (kind: string, name: string) => WORLD.find((each) => each.kind === kind && each.metadata.name === name)!;
const keys = (change: Change): string[] =>
  affected(change, lookupsOver(WORLD))
    .map(({ kind, name }) => `${kind}/${name}`)
    .toSorted();
const edited = (object: KubeObject, spec: object, metadata: object = {}): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, generation: 2, ...metadata },
  spec,
});

const s1 = find('MCPServer', 's1');
const g1 = find('MCPGroup', 'g1');

describe('affected', () => {
  it.each<[string, Change, string[]]>([
    ['nothing', {}, []],
    [
      'a member that came: its group, what serves the group, and what it refers to',
      { current: s1 },
      ['MCPExternalAuthConfig/auth', 'MCPGroup/g1', 'MCPServer/s1', 'VirtualMCPServer/v1'],
    ],
    [
      'a member that went',
      { previous: find('MCPServerEntry', 'e1') },
      ['MCPGroup/g2', 'MCPServerEntry/e1', 'VirtualMCPServer/v2'],
    ],
    [
      'a member that moved: both groups and both servers, and the configuration that it left',
      { previous: s1, current: edited(s1, { groupRef: { name: 'g2' } }) },
      [
        'MCPExternalAuthConfig/auth',
        'MCPGroup/g1',
        'MCPGroup/g2',
        'MCPServer/s1',
        'VirtualMCPServer/v1',
        'VirtualMCPServer/v2',
      ],
    ],
    [
      'a status that changed: the object alone',
      {
        previous: s1,
        current: { ...s1, status: { phase: 'Ready' }, metadata: { ...s1.metadata, resourceVersion: '6' } },
      },
      ['MCPServer/s1'],
    ],
    [
      'an object made anew under its name',
      { previous: s1, current: { ...s1, metadata: { ...s1.metadata, uid: 'other' } } },
      ['MCPExternalAuthConfig/auth', 'MCPGroup/g1', 'MCPServer/s1', 'VirtualMCPServer/v1'],
    ],
    [
      'a deletion that was asked for',
      { previous: g1, current: { ...g1, metadata: { ...g1.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } } },
      ['MCPGroup/g1', 'MCPServer/s1', 'VirtualMCPServer/v1'],
    ],
    [
      'a group that came: members and servers of it',
      { current: find('MCPGroup', 'g2') },
      ['MCPGroup/g2', 'MCPServer/s2', 'MCPServerEntry/e1', 'VirtualMCPServer/v2'],
    ],
    [
      'a VirtualMCPServer: what it refers to reckons with it',
      { current: find('VirtualMCPServer', 'v1') },
      ['MCPGroup/g1', 'MCPOIDCConfig/oidc', 'VirtualMCPServer/v1'],
    ],
    [
      'an OIDC configuration: its users',
      { current: find('MCPOIDCConfig', 'oidc') },
      ['MCPOIDCConfig/oidc', 'VirtualMCPServer/v1'],
    ],
    [
      'an external auth configuration: members that use it, in groups and not, and what serves those groups',
      { current: find('MCPExternalAuthConfig', 'auth') },
      ['MCPExternalAuthConfig/auth', 'MCPServer/alone', 'MCPServer/s1', 'VirtualMCPServer/v1'],
    ],
    ['a Secret of a member', { current: data('Secret', 'env-secret') }, ['MCPServer/s2', 'VirtualMCPServer/v2']],
    [
      'a Secret of a configuration: its users, through members too',
      { previous: data('Secret', 'auth-secret') },
      ['MCPExternalAuthConfig/auth', 'MCPServer/alone', 'MCPServer/s1', 'VirtualMCPServer/v1'],
    ],
    ['a ConfigMap', { current: data('ConfigMap', 'bundle') }, ['MCPServerEntry/e1', 'VirtualMCPServer/v2']],
    ['a Secret that nobody refers to', { current: data('Secret', 'other') }, []],
  ])('%s', (_, change, expected) => {
    expect(keys(change)).toEqual(expected);
  });

  const ownedBy = (owner: object) =>
    data('ConfigMap', 'made', {
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'x' },
        { apiVersion: 'vmcp.dev/v1alpha1', kind: 'VirtualMCPServer', name: 'v1', uid: 'u', controller: true, ...owner },
      ],
    });

  it('what an object was made for, by its controller reference alone', () => {
    expect(keys({ previous: ownedBy({}) })).toEqual(['VirtualMCPServer/v1']);
    expect(keys({ current: ownedBy({}) })).toEqual(['VirtualMCPServer/v1']);
    expect(keys({ current: ownedBy({ controller: false }) })).toEqual([]);
    expect(keys({ current: ownedBy({ apiVersion: 'apps/v1', kind: 'Deployment' }) })).toEqual([]);
  });

  it('the old owner of an object whose reference somebody took away', () => {
    expect(keys({ previous: ownedBy({}), current: data('ConfigMap', 'made') })).toEqual(['VirtualMCPServer/v1']);
  });

  it('everything of a namespace, once it begins to go', () => {
    const namespace = (metadata: object): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: NS, ...metadata },
    });
    const going = { deletionTimestamp: '2026-01-01T00:00:00Z' };
    expect(keys({ current: namespace({}) })).toEqual([]);
    expect(keys({ previous: namespace({}), current: namespace(going) })).toHaveLength(WORLD.length);
    expect(keys({ previous: namespace(going), current: namespace(going) })).toEqual([]);
    // One of the same name may follow at once, and its objects may have been seen before it.
    expect(keys({ previous: namespace(going), current: namespace({}) })).toHaveLength(WORLD.length);
    expect(keys({ previous: namespace(going) })).toHaveLength(WORLD.length);
  });
});
