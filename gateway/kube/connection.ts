import { dirname, join } from 'node:path';
import { WatchedFile } from '../outbound/watched-file.ts';
import { apiServerOf } from './api-server.ts';

/** PEM texts. */
export interface TlsMaterial {
  /** The only trusted roots; the system's roots when absent. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** Name in the server's certificate when it differs from the URL. */
  readonly serverName?: string;
  /** `insecure-skip-tls-verify` of a kubeconfig. */
  readonly insecureSkipVerify?: boolean;
}

/** Address of the API server and our credentials. Read for each socket and each request, because both rotate. */
export interface Connection {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** Namespace of the pod, or the one in the kubeconfig. */
  readonly namespace: string;
  /** Returns the same object while nothing has changed. */
  tls(): TlsMaterial;
  /** Returns the value of the header Authorization; undefined with a client certificate. */
  authorization(): Promise<string | undefined>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns true in a pod with access to its API server. */
export const isInCluster = (env: Environment): boolean =>
  (env['KUBERNETES_SERVICE_HOST'] ?? '') !== '' && (env['KUBERNETES_SERVICE_PORT'] ?? '') !== '';

/**
 * Returns the connection of a pod with its ServiceAccount. Token and certificates are read when needed and
 * followed as they rotate, so a pod may start before they exist.
 * @param directory where the token is mounted
 */
export function inClusterConnection(env: Environment, directory?: string): Connection {
  const server = isInCluster(env) ? apiServerOf(env, directory) : undefined;
  if (!server) {
    throw new Error('KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this process runs in no pod');
  }
  const token = new WatchedFile(server.tokenFile);
  const ca = new WatchedFile(server.caFile);
  let tls: TlsMaterial = {};
  return {
    baseUrl: server.url,
    get namespace() {
      return env['POD_NAMESPACE'] ?? new WatchedFile(join(dirname(server.tokenFile), 'namespace')).text();
    },
    tls() {
      const text = ca.text();
      if (text !== tls.ca) tls = { ca: text };
      return tls;
    },
    authorization: () => Promise.resolve().then(() => `Bearer ${token.text()}`),
  };
}
