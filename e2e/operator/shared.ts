import { beforeAll, inject } from 'vitest';
import { adminApi } from '../harness/control-plane/control-plane.ts';
import type { ClusterApi } from '../harness/control-plane/api.ts';
import { blockScope, testScope } from '../harness/scope.ts';
import { newPlayground, type Playground } from './playground.ts';

/** For the tests of a file: a namespace each, on the control plane and under the operator that all files share. */
export function sharedOperator(): { playground(): Promise<Playground>; readonly api: () => ClusterApi } {
  const scope = blockScope();
  let api: ClusterApi | undefined;
  beforeAll(async () => {
    api = await adminApi(scope, inject('controlPlane'));
  });
  const connected = (): ClusterApi => {
    if (!api) throw new Error('there is a connection from the first test on');
    return api;
  };
  return { api: connected, playground: () => newPlayground(testScope(), connected()) };
}
