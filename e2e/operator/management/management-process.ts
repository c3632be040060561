import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterApi } from '../../harness/control-plane/api.ts';
import { writeKubeconfig, type ControlPlaneAddress } from '../../harness/control-plane/control-plane.ts';
import { freePort } from '../../harness/free-port.ts';
import { eventually } from '../../harness/poll.ts';
import type { Scope } from '../../harness/scope.ts';
import { runVmcp, temporaryFolder, type Run } from '../../harness/vmcp.ts';
import { OPERATOR_NAMESPACE, renderChart } from '../access.ts';

const RIGHTS = /^(ServiceAccount|Role|RoleBinding)$/u;

export interface Reply {
  readonly status: number;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

/** A `vmcp serve` process that manages a cluster. */
export interface Management {
  readonly run: Run;
  readonly base: string;
  /** Sends a request to a path below `/api/v1beta`. */
  send(method: string, path: string, body?: unknown): Promise<Reply>;
}

/** Installs the account and the rights that the chart gives to the management Deployment, and returns its kubeconfig. */
async function installManagement(
  scope: Scope,
  api: ClusterApi,
  { folder, server }: ControlPlaneAddress,
  namespaces: readonly string[],
): Promise<string> {
  const name = namespaces[0] ?? '';
  const auth = ['management.auth.type=kubernetes', `management.auth.serviceAccount=${name}:client`];
  const values = [...auth, `management.namespaces={${namespaces.join(',')}}`, 'management.enabled=true'];
  const objects = await renderChart([...values, `fullnameOverride=${name}`]);
  const own = objects.filter(({ kind, metadata }) => RIGHTS.test(kind) && metadata.name === `${name}-management`);
  for (const object of own) await api.create(object);
  scope.defer(async () => {
    for (const { apiVersion, kind, metadata } of own)
      await api.remove({ apiVersion, kind, namespace: metadata.namespace, name: metadata.name });
  });
  const path = `/api/v1/namespaces/${OPERATOR_NAMESPACE}/serviceaccounts/${name}-management/token`;
  const { body } = await api.send('POST', path, { spec: { expirationSeconds: 7_200 } });
  const { token } = (body as { status: { token: string } }).status;
  const ca = await readFile(join(folder, 'pki', 'ca.crt'), 'utf8');
  return writeKubeconfig(join(folder, `${name}-management.kubeconfig`), { server, ca, namespace: name }, { token });
}

/** Starts `vmcp serve` with the rights of the chart and without a login; it ends with the scope. */
export async function startManagement(
  scope: Scope,
  api: ClusterApi,
  address: ControlPlaneAddress,
  namespaces: readonly string[],
): Promise<Management> {
  const kubeconfig = await installManagement(scope, api, address, namespaces);
  const folder = await temporaryFolder(scope);
  const config = join(folder, 'serve.json');
  await writeFile(config, JSON.stringify({ workloads: 'kubernetes', namespaces }));
  const port = String(await freePort());
  const args = ['serve', '--config', config, '--port', port, '--state', join(folder, 'state')];
  const run = await runVmcp(scope, args, { env: { KUBECONFIG: kubeconfig } });
  const base = `http://127.0.0.1:${port}`;
  const send = (method: string, path: string, body?: unknown): Promise<Reply> => request(base, method, path, body);
  await eventually('the management API answers', async () => {
    if (!run.running()) throw new Error(`it ended: ${run.output()}`);
    return (await send('GET', '/workloads?all=true')).status === 200;
  }).catch((error: unknown) => {
    throw new Error(run.output(), { cause: error });
  });
  return { run, base, send };
}

async function request(base: string, method: string, path: string, body: unknown): Promise<Reply> {
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  const reply = await fetch(`${base}/api/v1beta${path}`, { method, ...init });
  const text = await reply.text();
  return { status: reply.status, text, json: text.startsWith('{') ? (JSON.parse(text) as Reply['json']) : {} };
}
