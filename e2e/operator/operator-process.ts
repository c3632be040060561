import { join } from 'node:path';
import { writeKubeconfig, type ControlPlaneAddress } from '../harness/control-plane/control-plane.ts';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/poll.ts';
import type { Scope } from '../harness/scope.ts';
import { runVmcp, type Run } from '../harness/vmcp.ts';
import type { OperatorAccess } from './access.ts';

/** Never pulled: the control plane has no nodes. */
export const GATEWAY_IMAGE = 'localhost/vmcp-gateway:test';

export interface OperatorOptions {
  /** Value of `--namespace`. */
  readonly watch?: string;
  readonly podName?: string;
  /** True by default. */
  readonly leaderElect?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** Returns before the operator is ready. */
  readonly unready?: boolean;
}

/** A `vmcp operator` process. */
export interface Operator extends Run {
  readonly podName: string;
  readonly management: string;
  /** Returns the first sample of a metric whose labels contain `labels`. */
  metric(name: string, labels?: string): Promise<number | undefined>;
}

let count = 0;

/** Starts `vmcp operator` with the rights of its chart and waits until it is ready; it ends with the scope. */
export async function startOperator(
  scope: Scope,
  address: ControlPlaneAddress,
  access: OperatorAccess,
  options: OperatorOptions = {},
): Promise<Operator> {
  const podName = options.podName ?? `vmcp-operator-${String(process.pid)}-${String((count += 1))}`;
  const port = await freePort();
  const kubeconfig = await writeKubeconfig(
    join(address.folder, `${podName}.kubeconfig`),
    { server: address.server, ca: access.ca, namespace: access.namespace },
    { token: access.token },
  );
  const elect = options.leaderElect === false ? ['--leader-elect=false'] : [];
  const args = ['operator', '--namespace', options.watch ?? 'all', '--metrics-port', String(port), ...elect];
  const env = {
    ...access.env,
    KUBECONFIG: kubeconfig,
    GATEWAY_IMAGE,
    POD_NAMESPACE: access.namespace,
    POD_NAME: podName,
    POD_SERVICE_ACCOUNT: access.username.split(':').at(-1) ?? '',
    NETWORK_POLICIES: 'true',
    ...options.env,
  };
  const run = await runVmcp(scope, args, { env });
  const management = `http://127.0.0.1:${port}`;
  if (options.unready !== true) await untilReady(run, management);
  return { ...run, podName, management, metric: (name, labels) => sampleOf(management, name, labels) };
}

async function untilReady(run: Run, management: string): Promise<void> {
  const outcome = await eventually('the operator is ready', async () => {
    if (!run.running()) return 'ended' as const;
    return (await fetch(`${management}/readyz`, { signal: AbortSignal.timeout(2_000) })).ok && ('ready' as const);
  }).catch((error: unknown) => {
    throw new Error(`the operator does not become ready:\n${run.output()}`, { cause: error });
  });
  if (outcome === 'ended') throw new Error(`the operator ended before it was ready:\n${run.output()}`);
}

async function sampleOf(management: string, name: string, labels = ''): Promise<number | undefined> {
  const text = await (await fetch(`${management}/metrics`)).text();
  const line = text.split('\n').find((each) => /^[a-z_]+/u.exec(each)?.[0] === name && each.includes(labels));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ') + 1));
}
