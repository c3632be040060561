/** How a pod reaches the API server of its cluster. */
export interface ApiServer {
  /** Origin, such as `https://10.96.0.1:443`. */
  readonly url: string;
  /** Service account token of the pod; its file is written anew from time to time. */
  readonly tokenFile: string;
  readonly caFile: string;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * The API server as every pod finds it; undefined outside of a cluster.
 * @param folder where the token is mounted
 */
export function apiServerOf(
  environment: Readonly<Record<string, string | undefined>>,
  folder: string = SERVICE_ACCOUNT,
): ApiServer | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = environment;
  if (host === undefined || host === '') return undefined;
  const authority = host.includes(':') ? `[${host}]` : host;
  return { url: `https://${authority}:${port}`, tokenFile: `${folder}/token`, caFile: `${folder}/ca.crt` };
}
