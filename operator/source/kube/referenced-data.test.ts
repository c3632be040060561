import { expect, it } from 'vitest';
import { ApiError } from '../../../gateway/kube/client.ts';
import { RESOURCES, type KubeObject } from '../../../gateway/kube/resource.ts';
import { ReferenceIndex } from './reference-index.ts';
import { ReferencedData, type Data } from './referenced-data.ts';

const REF = { kind: 'Secret', namespace: 'team', name: 'keys' } as const;
const config = (generation: number, ...keys: string[]): KubeObject => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPServer',
  metadata: { namespace: 'team', name: 'web', uid: 'u', generation },
  spec: { secrets: keys.map((key) => ({ name: REF.name, key, targetEnvName: key })) },
});
const secret = (resourceVersion: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'team', name: REF.name, resourceVersion },
  data: { a: 'eA==', b: 'eA==' },
});

function setUp() {
  const index = new ReferenceIndex();
  const kept: Data[] = [];
  const state = { version: '5' as string | undefined, failure: undefined as Error | undefined };
  const get = (): Promise<KubeObject> =>
    state.failure ? Promise.reject(state.failure) : Promise.resolve(secret(state.version ?? ''));
  const data = new ReferencedData({
    client: { get } as never,
    index,
    versionOf: ({ kind }) => (kind === RESOURCES.Secret.kind ? state.version : undefined),
    keep: (_ref, value) => kept.push(value),
  });
  return { index, data, state, kept };
}

const down = new ApiError({ status: 500, reason: 'InternalError', message: 'etcd is away' });

it('is ready again when an unreadable object is no longer referenced', async () => {
  const { index, data, state } = setUp();
  index.change(undefined, config(1, 'a'));
  await data.check(REF);
  state.failure = down;
  index.change(config(1, 'a'), config(2, 'a', 'b'));
  await data.check(REF);
  await expect(data.ready('team')).rejects.toBe(down);
  index.change(config(2, 'a', 'b'), config(3, 'a'));
  await data.check(REF);
  await expect(data.ready('team')).resolves.toBeUndefined();
});

it('retries failed reads and forgets deleted objects', async () => {
  const { index, data, state, kept } = setUp();
  state.failure = down;
  index.change(undefined, config(1, 'a'));
  await expect(data.check(REF)).resolves.toBeUndefined();
  await expect(data.ready('team')).rejects.toBe(down);
  state.failure = undefined;
  await data.ready('team');
  expect(kept.at(-1)).toMatchObject({ value: { keys: ['a', 'b'], version: '5' } });
  state.version = undefined;
  await data.check(REF);
  expect(kept.at(-1)).toEqual({ kind: 'Secret', value: undefined });
  await data.ready('team');
});
