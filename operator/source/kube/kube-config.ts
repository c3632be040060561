import type { RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import {
  inClusterConnection,
  isInCluster,
  type Connection,
  type TlsMaterial,
} from '../../../gateway/kube/connection.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Time after which files and programs of a kubeconfig are read or run again. */
const REREAD_AFTER_MS = 5_000;

/** Returns the connection of the pod, or that of the kubeconfig if KUBECONFIG is set or the process runs in no pod. */
export async function defaultConnection(env: Environment, now: () => number): Promise<Connection> {
  const named = (env['KUBECONFIG'] ?? '') !== '';
  return isInCluster(env) && !named ? inClusterConnection(env) : kubeConfigConnection(env, now);
}

/**
 * Returns the connection of the current context of $KUBECONFIG or ~/.kube/config. Supports every login method of kubectl.
 * @throws Error when there is no kubeconfig, or it contains no cluster
 */
async function kubeConfigConnection(env: Environment, now: () => number): Promise<Connection> {
  const { loadKubeConfig } = await import('./kube-config-files.ts'); // large, and not needed in a pod
  const config = loadKubeConfig(env);
  const cluster = config.getCurrentCluster();
  if (!cluster)
    throw new Error(
      'the kubeconfig has no current context: set one, or set KUBECONFIG to a file with a current context',
    );
  if (cluster.proxyUrl !== undefined) {
    throw new Error(`cluster "${cluster.name}" uses proxy-url, which is not supported: connect directly`);
  }
  let tls: TlsMaterial = {};
  let cached: { readonly at: number; readonly options: Promise<RequestOptions> } | undefined;
  const options = (): Promise<RequestOptions> => {
    if (!cached || now() - cached.at > REREAD_AFTER_MS) cached = { at: now(), options: optionsOf(config) };
    return cached.options;
  };
  return {
    baseUrl: cluster.server.replace(/\/$/u, ''),
    namespace: config.getContextObject(config.getCurrentContext())?.namespace ?? 'default',
    tls: () => tls,
    async authorization() {
      const current = await options().catch((error: unknown) => {
        cached = undefined;
        throw error;
      });
      const material = materialOf(current);
      if (JSON.stringify(material) !== JSON.stringify(tls)) tls = material;
      return authorizationOf(current);
    },
  };
}

async function optionsOf(config: KubeConfig): Promise<RequestOptions> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  return options;
}

function materialOf({ ca, cert, key, servername, rejectUnauthorized }: RequestOptions): TlsMaterial {
  return {
    ...(ca && { ca: textOf(ca) }),
    ...(cert && { cert: textOf(cert) }),
    ...(key && { key: textOf(key) }),
    ...(servername !== undefined && { serverName: servername }),
    ...(rejectUnauthorized === false && { insecureSkipVerify: true }),
  };
}

const textOf = (material: unknown): string =>
  Buffer.isBuffer(material) ? material.toString('utf8') : String(material);

function authorizationOf({ headers, auth }: RequestOptions): string | undefined {
  if (auth !== undefined && auth !== null) return `Basic ${Buffer.from(auth).toString('base64')}`;
  const value = (headers as Readonly<Record<string, unknown>> | undefined)?.['Authorization'];
  return typeof value === 'string' ? value : undefined;
}
