import { beforeAll, inject } from 'vitest';
import { adminApi } from '../harness/control-plane/control-plane.ts';
import type { ClusterApi } from '../harness/control-plane/api.ts';
import { blockScope, testScope } from '../harness/scope.ts';
import { newPlayground, type Playground } from './playground.ts';

/** Gives each test a namespace on the shared control plane, with the shared operator. */
export function sharedOperator(): { playground(): Promise<Playground>; readonly api: () => ClusterApi } {
  const scope = blockScope();
  let api: ClusterApi | undefined;
  beforeAll(async () => {
    api = await adminApi(scope, inject('controlPlane'));
  });
  const connected = (): ClusterApi => {
    if (!api) throw new Error('the connection is opened before the first test');
    return api;
  };
  return { api: connected, playground: () => newPlayground(testScope(), connected()) };
}
