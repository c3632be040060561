import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../gateway/kube/resource.ts';
import { NamespaceView } from './namespace-view.ts';

const server = (name: string, spec: object, generation = 1, status?: object): KubeObject => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPServer',
  metadata: { name, namespace: 'ns', uid: `uid-${name}`, generation, creationTimestamp: '2026-11-22T05:00:00Z' },
  spec,
  ...(status && { status }),
});
const good = { image: 'example.com/mcp:1', transport: 'streamable-http', groupRef: { name: 'g' } };

describe('NamespaceView', () => {
  it('adds defaults that the API server did not know when it stored the object', () => {
    const view = new NamespaceView('ns');
    view.put(server('a', good));
    expect(view.snapshot().servers.get('a')).toMatchObject({
      metadata: { uid: 'uid-a' },
      spec: { ...good, proxyPort: 8080 },
    });
    expect(view.problemsOf({ kind: 'MCPServer', name: 'a' })).toEqual([]);
  });

  it('returns the same snapshot until something changes', () => {
    const view = new NamespaceView('ns');
    view.put(server('a', good));
    const before = view.snapshot();
    expect(view.snapshot()).toBe(before);
    view.setSecret('s', { name: 's', keys: ['k'] });
    expect(view.snapshot()).not.toBe(before);
    expect(before.secrets.size).toBe(0);
    expect(view.snapshot().servers).toBe(before.servers);
  });

  it('lists an invalid object as broken, with its problems and group, until it is corrected or deleted', () => {
    const view = new NamespaceView('ns');
    view.put(server('a', { ...good, transport: 'pigeon' }));
    expect(view.snapshot().servers.size).toBe(0);
    expect([...view.snapshot().broken]).toEqual([['MCPServer/a', { kind: 'MCPServer', name: 'a', group: 'g' }]]);
    expect(view.problemsOf({ kind: 'MCPServer', name: 'a' })).toMatchObject([
      { kind: 'MCPServer', namespace: 'ns', name: 'a', path: 'spec.transport' },
    ]);
    expect(view.refs()).toEqual([{ kind: 'MCPServer', namespace: 'ns', name: 'a' }]);
    const broken = server('a', { ...good, transport: 'pigeon' });
    view.put({ ...broken, status: { phase: 'Failed' } });
    expect(view.snapshot().broken.size).toBe(1);
    view.put(server('a', good, 2));
    expect(view.snapshot().broken.size).toBe(0);
    expect([...view.snapshot().servers.keys()]).toEqual(['a']);
    view.remove(broken);
    expect(view.isEmpty).toBe(true);
    expect(view.snapshot().servers.size).toBe(0);
  });

  it('does not validate status and metadata', () => {
    const view = new NamespaceView('ns');
    const status = { phase: 'Ready', laterVersion: { of: 'this field' } };
    view.put(server('a', good));
    view.put(server('a', good, 1, status));
    expect(view.snapshot().servers.get('a')).toMatchObject({ status, spec: { proxyPort: 8080 } });
    expect(view.snapshot().broken.size).toBe(0);
  });

  it('validates a new object of the same name again', () => {
    const view = new NamespaceView('ns');
    view.put(server('a', good));
    const other = server('a', { ...good, transport: 'pigeon' });
    view.put({ ...other, metadata: { ...other.metadata, uid: 'another' } });
    expect(view.snapshot().broken.size).toBe(1);
  });
});
