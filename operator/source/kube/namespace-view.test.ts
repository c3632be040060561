import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../gateway/kube/resource.ts';
import { NamespaceView, SortedView } from './namespace-view.ts';

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

/** Linear congruential generator with a fixed seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % below;
  };
}

describe('SortedView', () => {
  it('equals a full sort after any sequence of changes', () => {
    const next = numbers(7);
    const expected = new Map<string, number>();
    const sorted = new SortedView<number>();
    for (let round = 0; round < 400; round += 1) {
      for (let change = next(6); change >= 0; change -= 1) {
        const name = `n${String(next(40))}`;
        const value = next(3) === 0 ? undefined : next(1_000);
        if (value === undefined) expected.delete(name);
        else expected.set(name, value);
        sorted.set(name, value);
      }
      expect([...sorted.view()]).toEqual([...expected].sort(([a], [b]) => (a < b ? -1 : 1)));
    }
  });

  it('returns an immutable map, and the same one until a value changes', () => {
    const sorted = new SortedView<number>();
    sorted.set('b', 1);
    const first = sorted.view();
    expect(sorted.view()).toBe(first);
    sorted.set('a', 2);
    sorted.set('b', undefined);
    expect([...first]).toEqual([['b', 1]]);
    expect([...sorted.view()]).toEqual([['a', 2]]);
  });
});
