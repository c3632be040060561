import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../gateway/kube/resource.ts';
import { ReferenceIndex } from './reference-index.ts';

const object = (kind: string, name: string, spec: unknown, generation = 1): KubeObject => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind,
  metadata: { name, namespace: 'ns', uid: `uid-${name}`, generation },
  spec,
});
const entry = (name: string, caKey: string | undefined, generation = 1) =>
  object(
    'MCPServerEntry',
    name,
    {
      groupRef: { name: 'g' },
      caBundleRef: { configMapRef: { name: 'ca', ...(caKey !== undefined && { key: caKey }) } },
    },
    generation,
  );
const target = (kind: string, name: string, namespace = 'ns') => ({ kind, namespace, name });
const CA = target('ConfigMap', 'ca');

describe('ReferenceIndex', () => {
  it('returns the referrers of an object and the keys that they refer to', () => {
    const index = new ReferenceIndex();
    expect(
      index
        .change(undefined, entry('a', 'one'))
        .map(({ kind }) => kind)
        .sort(),
    ).toEqual(['ConfigMap', 'MCPGroup']);
    index.change(undefined, entry('b', undefined));
    expect(index.referrersOf(CA).map(({ name }) => name)).toEqual(['a', 'b']);
    expect(index.referrersOf(target('MCPGroup', 'g'))).toHaveLength(2);
    expect(index.referrersOf(target('MCPGroup', 'g', 'elsewhere'))).toEqual([]);
    expect(index.referencedKeys(CA)).toEqual(new Set(['one', 'ca.crt']));
    expect(index.referencedKeys(target('ConfigMap', 'other'))).toBeUndefined();
  });

  it('returns exactly the targets whose references or keys changed', () => {
    const index = new ReferenceIndex();
    index.change(undefined, entry('a', 'one'));
    expect(index.change(entry('a', 'one'), entry('a', 'two', 2))).toEqual([CA]);
    expect(index.referencedKeys(CA)).toEqual(new Set(['two']));
    expect(index.change(entry('a', 'two', 2), entry('a', 'two', 3))).toEqual([]);
    const moved = object('MCPServerEntry', 'a', { groupRef: { name: 'h' } }, 4);
    expect(
      index
        .change(entry('a', 'two', 3), moved)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['ca', 'g', 'h']);
    expect(index.referrersOf(target('MCPGroup', 'g'))).toEqual([]);
    expect(index.change(moved, undefined)).toEqual([target('MCPGroup', 'h')]);
    expect(index.referrersOf(target('MCPGroup', 'h'))).toEqual([]);
  });

  it.each([
    [undefined],
    [null],
    ['text'],
    [{ groupRef: 'g' }],
    [{ groupRef: { name: 7 } }],
    [{ secrets: [null, 'x'] }],
  ])('takes a broken spec: %j', (spec) => {
    expect(new ReferenceIndex().change(undefined, object('MCPServer', 'a', spec))).toEqual([]);
  });
});
