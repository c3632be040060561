import { dirname, join } from 'node:path';
import { WatchedFile } from '../outbound/watched-file.ts';
import { apiServerOf } from './api-server.ts';

/** PEM texts. */
export interface TlsMaterial {
  /** Trusted alone; the system's roots when absent. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** Name that the server's certificate must bear when it is not the one in the URL. */
  readonly serverName?: string;
  /** `insecure-skip-tls-verify` of a kubeconfig. */
  readonly insecureSkipVerify?: boolean;
}

/** Where the API server is and who we are there. Asked anew for each socket and each request, as both rotate. */
export interface Connection {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** The namespace we are in: the pod's, or the one that the kubeconfig names. */
  readonly namespace: string;
  /** The same object while nothing has changed. */
  tls(): TlsMaterial;
  /** Value of the header Authorization; undefined where a client certificate says who we are. */
  authorization(): Promise<string | undefined>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether this process runs in a pod that may talk to its API server. */
export const isInCluster = (env: Environment): boolean =>
  (env['KUBERNETES_SERVICE_HOST'] ?? '') !== '' && (env['KUBERNETES_SERVICE_PORT'] ?? '') !== '';

/**
 * The connection of a pod by its own ServiceAccount. Token and certificates are read when they are needed and followed
 * as they rotate, so a pod may start before they are there.
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
