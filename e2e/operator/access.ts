import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import {
  adminApi,
  startControlPlane,
  type ControlPlane,
  type ControlPlaneAddress,
  type ControlPlaneOptions,
} from '../harness/control-plane/control-plane.ts';
import { pathOf, type ClusterApi, type KubeManifest } from '../harness/control-plane/api.ts';
import { clusterBinary } from '../harness/control-plane/binaries.ts';
import { eventually } from '../harness/poll.ts';
import type { Scope } from '../harness/scope.ts';
import { root } from '../harness/vmcp.ts';
import { at, type Playground } from './playground.ts';

export const OPERATOR_NAMESPACE = 'vmcp-system';
const RIGHTS = /^(ServiceAccount|(Cluster)?Role(Binding)?)$/u;

/** The identity of the operator that the chart installs. */
export interface OperatorAccess {
  readonly ca: string;
  readonly namespace: string;
  readonly token: string;
  /** Name in the audit log. */
  readonly username: string;
  /** Environment of the operator in the chart. */
  readonly env: Readonly<Record<string, string>>;
}

/** Installs the ServiceAccount and the RBAC objects of the chart, and requests a token. */
export async function installAccess(
  api: ClusterApi,
  { folder }: ControlPlaneAddress,
  values: readonly string[] = [],
): Promise<OperatorAccess> {
  await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: OPERATOR_NAMESPACE } });
  const objects = await renderChart(values);
  for (const object of objects.filter(({ kind }) => RIGHTS.test(kind))) {
    const namespace = object.metadata.namespace ?? OPERATOR_NAMESPACE;
    await api.create({ ...object, metadata: { ...object.metadata, namespace } });
  }
  const account = serviceAccountOf(objects);
  const path = `/api/v1/namespaces/${OPERATOR_NAMESPACE}/serviceaccounts/${account}/token`;
  const { body } = await api.send('POST', path, { spec: { expirationSeconds: 7_200 } });
  return {
    ca: await readFile(join(folder, 'pki', 'ca.crt'), 'utf8'),
    namespace: OPERATOR_NAMESPACE,
    token: (body as { status: { token: string } }).status.token,
    username: `system:serviceaccount:${OPERATOR_NAMESPACE}:${account}`,
    env: environmentOf(objects),
  };
}

/** Starts a control plane for tests that stop parts of it or start operators themselves. `values` are values of the chart. */
export async function ownControlPlane(
  scope: Scope,
  {
    values = [],
    namespaces = [],
    ...options
  }: ControlPlaneOptions & { readonly values?: readonly string[]; readonly namespaces?: readonly string[] } = {},
): Promise<{ plane: ControlPlane; api: ClusterApi; access: OperatorAccess }> {
  const plane = await startControlPlane(scope, options);
  const api = await adminApi(scope, plane);
  for (const name of namespaces) await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  return { plane, api, access: await installAccess(api, plane, values) };
}

/** Waits until the API server enforces the removal of a right: it reads changed Roles a moment later. */
export async function untilForbidden(
  api: ClusterApi,
  user: string,
  resourceAttributes: Readonly<Record<'namespace' | 'verb' | 'resource', string>>,
): Promise<void> {
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' };
  await eventually('the right is removed', async () => {
    const { body } = await api.send('POST', path, { ...review, spec: { user, resourceAttributes } });
    return at(body, 'status.allowed') === false;
  });
}

/** Waits until the API server rejects an object with these words: it reads new quotas and webhooks a moment later. */
export async function untilRefused({ api, namespace }: Playground, object: KubeManifest, words: string): Promise<void> {
  const { apiVersion, kind } = object;
  const path = `${pathOf({ apiVersion, kind, namespace })}?dryRun=All`;
  await eventually(`the API server rejects an object: ${words}`, async () => {
    const { status, message } = await api.send('POST', path, object);
    return status >= 300 && message.includes(words);
  });
}

/** Returns the objects that `helm install` would create. */
export async function renderChart(values: readonly string[]): Promise<KubeManifest[]> {
  const helm = clusterBinary('helm') ?? 'helm';
  const args = [
    'template',
    'vmcp',
    join(root, 'charts', 'vmcp'),
    '--namespace',
    OPERATOR_NAMESPACE,
    '--kube-version',
    '1.36.3',
  ];
  const { stdout } = await promisify(execFile)(helm, [...args, ...values.flatMap((value) => ['--set', value])]);
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as KubeManifest | null)
    .filter((object) => object !== null);
}

function serviceAccountOf(objects: readonly KubeManifest[]): string {
  const account = objects.find(({ kind }) => kind === 'ServiceAccount');
  if (!account) throw new Error('the chart renders no ServiceAccount');
  return account.metadata.name;
}

function environmentOf(objects: readonly KubeManifest[]): Record<string, string> {
  const deployment = objects.find(({ kind }) => kind === 'Deployment');
  const { containers } = at(deployment, 'spec.template.spec') as {
    containers: { env?: { name: string; value?: string }[] }[];
  };
  const literals = containers.flatMap(({ env = [] }) => env);
  return Object.fromEntries(
    literals.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const])),
  );
}
