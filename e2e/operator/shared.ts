import { beforeAll, inject } from 'vitest';
import { run, type CommandOptions } from '../cluster/harness/command.ts';
import { adminApi, adminKubeconfigOf } from '../harness/control-plane/control-plane.ts';
import type { ClusterApi } from '../harness/control-plane/api.ts';
import { clusterBinary } from '../harness/control-plane/binaries.ts';
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

/** Absent where no kubectl of the control plane's version is installed. */
export const kubectlFile = clusterBinary('kubectl');

/** Runs kubectl as administrator in the namespace of a test, and returns its stdout. */
export const kubectl = (
  { namespace }: Playground,
  args: readonly string[],
  options?: CommandOptions,
): Promise<string> =>
  run(
    kubectlFile ?? 'kubectl',
    ['--kubeconfig', adminKubeconfigOf(inject('controlPlane')), '--namespace', namespace, ...args],
    options,
  );
