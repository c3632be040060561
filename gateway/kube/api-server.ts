/** Address and credentials with which a pod reaches its API server. */
export interface ApiServer {
  /** Origin, such as `https://10.96.0.1:443`. */
  readonly url: string;
  /** File of the pod's service account token, which the kubelet rotates. */
  readonly tokenFile: string;
  readonly caFile: string;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Returns the API server from the environment of a pod; undefined outside of a cluster.
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
