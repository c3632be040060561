import type { RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import {
  inClusterConnection,
  isInCluster,
  type Connection,
  type TlsMaterial,
} from '../../../gateway/kube/connection.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Files and programs that a kubeconfig names are asked again after this time. */
const REREAD_AFTER_MS = 5_000;

/** The connection of this process: as a pod, unless KUBECONFIG says otherwise; else by the user's kubeconfig. */
export async function defaultConnection(env: Environment, now: () => number): Promise<Connection> {
  const named = (env['KUBECONFIG'] ?? '') !== '';
  return isInCluster(env) && !named ? inClusterConnection(env) : kubeConfigConnection(env, now);
}

/**
 * The connection by the current context of $KUBECONFIG or ~/.kube/config, with every way to log in that kubectl has.
 * @throws Error when there is no kubeconfig, or it names no cluster
 */
async function kubeConfigConnection(env: Environment, now: () => number): Promise<Connection> {
  const { loadKubeConfig } = await import('./kube-config-files.ts'); // heavy, and not needed in a pod
  const config = loadKubeConfig(env);
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error('the kubeconfig has no current context: set one, or set KUBECONFIG to a file that has');
  if (cluster.proxyUrl !== undefined) {
    throw new Error(`cluster "${cluster.name}" is reached by proxy-url, which is not supported: connect directly`);
  }
  let tls: TlsMaterial = {};
  let asked: { readonly at: number; readonly options: Promise<RequestOptions> } | undefined;
  const options = (): Promise<RequestOptions> => {
    if (!asked || now() - asked.at > REREAD_AFTER_MS) asked = { at: now(), options: optionsOf(config) };
    return asked.options;
  };
  return {
    baseUrl: cluster.server.replace(/\/$/u, ''),
    namespace: config.getContextObject(config.getCurrentContext())?.namespace ?? 'default',
    tls: () => tls,
    async authorization() {
      const current = await options().catch((error: unknown) => {
        asked = undefined;
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
