import type { TestProject } from 'vitest/node';
import { adminApi, startControlPlane, type ControlPlaneAddress } from '../harness/control-plane/control-plane.ts';
import { installAccess, type OperatorAccess } from './access.ts';
import { startOperator } from './operator-process.ts';
import { CANARY } from './resources.ts';

declare module 'vitest' {
  interface ProvidedContext {
    controlPlane: ControlPlaneAddress;
    operator: { readonly access: OperatorAccess; readonly management: string };
  }
}

const stops: (() => unknown)[] = [];
let output: () => string = () => '';

/** Starts the control plane and the operator of all test files that do not stop a part of them. */
export async function setup(project: TestProject): Promise<void> {
  const scope = { defer: (stop: () => unknown) => void stops.push(stop) };
  const { server, etcdUrl, folder } = await startControlPlane(scope);
  const address = { server, etcdUrl, folder };
  project.provide('controlPlane', address);
  const access = await installAccess(await adminApi(scope, address), address);
  const operator = await startOperator(scope, address, access);
  output = operator.output;
  project.provide('operator', { access, management: operator.management });
}

export async function teardown(): Promise<void> {
  if (process.env['OPERATOR_LOG'] !== undefined) console.error(output());
  for (const stop of stops.splice(0).reverse()) await stop();
  if (output().includes(CANARY)) throw new Error('the operator has logged the value of a Secret');
}
