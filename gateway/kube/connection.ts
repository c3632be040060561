import { join } from 'node:path';
import { WatchedFile } from '../outbound/watched-file.ts';

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

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Whether this process runs in a pod that may talk to its API server. */
export const isInCluster = (env: Environment): boolean =>
  (env['KUBERNETES_SERVICE_HOST'] ?? '') !== '' && (env['KUBERNETES_SERVICE_PORT'] ?? '') !== '';

/**
 * The connection of a pod by its own ServiceAccount. Token and certificates are read when they are needed and followed
 * as they rotate, so a pod may start before they are there.
 * @param directory where the token is mounted
 */
export function inClusterConnection(env: Environment, directory: string = SERVICE_ACCOUNT): Connection {
  if (!isInCluster(env)) {
    throw new Error('KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this process runs in no pod');
  }
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  const token = new WatchedFile(join(directory, 'token'));
  const ca = new WatchedFile(join(directory, 'ca.crt'));
  let tls: TlsMaterial = {};
  return {
    baseUrl: `https://${host.includes(':') ? `[${host}]` : host}:${env['KUBERNETES_SERVICE_PORT'] ?? ''}`,
    get namespace() {
      return env['POD_NAMESPACE'] ?? new WatchedFile(join(directory, 'namespace')).text();
    },
    tls() {
      const text = ca.text();
      if (text !== tls.ca) tls = { ca: text };
      return tls;
    },
    authorization: () => Promise.resolve().then(() => `Bearer ${token.text()}`),
  };
}
