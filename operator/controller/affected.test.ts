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

/** Lookups over plain objects. */
function lookupsOver(objects: readonly KubeObject[]): Lookups {
  const refOf = ({ kind, metadata }: KubeObject) => ({ kind, namespace: NS, name: metadata.name });
  const named = (object: KubeObject) => references(object as unknown as Resource);
  return {
    referrersOf: ({ kind, name }) =>
      objects.filter((each) => named(each).some((to) => to.target === kind && to.name === name)).map(refOf),
    targetsOf: ({ kind, name }) =>
      objects
        .filter((each) => each.kind === kind && each.metadata.name === name)
        .flatMap(named)
        .map((to) => ({ kind: to.target, namespace: NS, name: to.name })),
    refsIn: (namespace) => (namespace === NS ? objects.map(refOf) : []),
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
  own('MCPOIDCConfig', 'issuer'),
  own('MCPExternalAuthConfig', 'logins', { type: 'embeddedAuthServer' }),
  own('MCPServer', 'guarded', { authServerRef: { name: 'logins' }, oidcConfigRef: { name: 'issuer' } }),
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
      'a created member: its group, the servers of the group and the objects that it refers to',
      { current: s1 },
      ['MCPExternalAuthConfig/auth', 'MCPGroup/g1', 'MCPServer/s1', 'VirtualMCPServer/v1'],
    ],
    [
      'a deleted member',
      { previous: find('MCPServerEntry', 'e1') },
      ['MCPGroup/g2', 'MCPServerEntry/e1', 'VirtualMCPServer/v2'],
    ],
    [
      'a moved member: both groups, their servers and the config that it no longer refers to',
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
      'a changed status: the object alone',
      {
        previous: s1,
        current: { ...s1, status: { phase: 'Ready' }, metadata: { ...s1.metadata, resourceVersion: '6' } },
      },
      ['MCPServer/s1'],
    ],
    [
      'an object that was deleted and created again',
      { previous: s1, current: { ...s1, metadata: { ...s1.metadata, uid: 'other' } } },
      ['MCPExternalAuthConfig/auth', 'MCPGroup/g1', 'MCPServer/s1', 'VirtualMCPServer/v1'],
    ],
    [
      'a requested deletion',
      { previous: g1, current: { ...g1, metadata: { ...g1.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } } },
      ['MCPGroup/g1', 'MCPServer/s1', 'VirtualMCPServer/v1'],
    ],
    [
      'a created group: its members and servers',
      { current: find('MCPGroup', 'g2') },
      ['MCPGroup/g2', 'MCPServer/s2', 'MCPServerEntry/e1', 'VirtualMCPServer/v2'],
    ],
    [
      'a VirtualMCPServer: the objects that it refers to',
      { current: find('VirtualMCPServer', 'v1') },
      ['MCPGroup/g1', 'MCPOIDCConfig/oidc', 'VirtualMCPServer/v1'],
    ],
    [
      'an OIDC config: the objects that refer to it',
      { current: find('MCPOIDCConfig', 'oidc') },
      ['MCPOIDCConfig/oidc', 'VirtualMCPServer/v1'],
    ],
    [
      'an external auth config: members with and without a group that refer to it, and the servers of those groups',
      { current: find('MCPExternalAuthConfig', 'auth') },
      ['MCPExternalAuthConfig/auth', 'MCPServer/alone', 'MCPServer/s1', 'VirtualMCPServer/v1'],
    ],
    [
      'an authorization server: its server, and the OIDC config with its issuer',
      { current: find('MCPExternalAuthConfig', 'logins') },
      ['MCPExternalAuthConfig/logins', 'MCPOIDCConfig/issuer', 'MCPServer/guarded'],
    ],
    ['a Secret of a member', { current: data('Secret', 'env-secret') }, ['MCPServer/s2', 'VirtualMCPServer/v2']],
    [
      'a Secret: the objects that refer to it, also through configs and members',
      { previous: data('Secret', 'auth-secret') },
      ['MCPExternalAuthConfig/auth', 'MCPServer/alone', 'MCPServer/s1', 'VirtualMCPServer/v1'],
    ],
    ['a ConfigMap', { current: data('ConfigMap', 'bundle') }, ['MCPServerEntry/e1', 'VirtualMCPServer/v2']],
    ['a Secret without references', { current: data('Secret', 'other') }, []],
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

  it('returns the owner of an object by its controller reference alone', () => {
    expect(keys({ previous: ownedBy({}) })).toEqual(['VirtualMCPServer/v1']);
    expect(keys({ current: ownedBy({}) })).toEqual(['VirtualMCPServer/v1']);
    expect(keys({ current: ownedBy({ controller: false }) })).toEqual([]);
    expect(keys({ current: ownedBy({ apiVersion: 'apps/v1', kind: 'Deployment' }) })).toEqual([]);
  });

  it('returns the previous owner of an object that lost its controller reference', () => {
    expect(keys({ previous: ownedBy({}), current: data('ConfigMap', 'made') })).toEqual(['VirtualMCPServer/v1']);
  });

  it('returns every object in a namespace when its termination starts', () => {
    const namespace = (metadata: object): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: NS, ...metadata },
    });
    const going = { deletionTimestamp: '2026-01-01T00:00:00Z' };
    expect(keys({ current: namespace({}) })).toEqual([]);
    expect(keys({ previous: namespace({}), current: namespace(going) })).toHaveLength(WORLD.length);
    expect(keys({ previous: namespace(going), current: namespace(going) })).toEqual([]);
    // A new namespace of the same name may exist at once, and its objects may be reported before it.
    expect(keys({ previous: namespace(going), current: namespace({}) })).toHaveLength(WORLD.length);
    expect(keys({ previous: namespace(going) })).toHaveLength(WORLD.length);
  });
});
