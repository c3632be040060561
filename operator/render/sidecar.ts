import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import type { JsonObject } from '../../gateway/contract/json.ts';
import type { ObjectProblem, Mount } from '../resolve/scope.ts';
import type { MCPServer } from '../resolve/snapshot.ts';
import {
  egressFiles,
  gatewayPart,
  gatewayUser,
  type GatewayPart,
  type GatewayVolume,
  type Size,
  CONFIG_KEY,
  BESIDE_SERVER,
  mountedFiles,
} from './gateway.ts';
import { documentChecksum, documentConfigMap } from './objects.ts';
import type { RenderOptions } from './options.ts';
import { CHECKSUM_ANNOTATION, type Owned } from './owned.ts';

const SIZE: Size = { cpu: '50m', memory: '128Mi', limit: '384Mi', heapMi: 288 };
/** Time in which the gateway in the same pod rejects new calls and finishes most running ones. */
export const STOP_SLEEP_S = 10;
const VOLUME_PREFIX = BESIDE_SERVER.prefix;
const TOKEN_S = 3607;

/** Gateway container beside a server, with its configuration. */
export interface Sidecar extends GatewayPart {
  readonly configMap: KubeObject;
  /** Replaces the pods when the configuration changes. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** Renders the gateway beside a server. Only this container gets the files and, if it needs one, the token of the account. */
export function sidecar(
  owned: Owned,
  options: RenderOptions,
  name: string,
  parts: { readonly document: GatewayConfig; readonly mounts?: readonly Mount[]; readonly managementPort?: number },
): Sidecar {
  const { document, mounts = [], managementPort } = parts;
  const configMap = `${name}-gateway-config`;
  const files = egressFiles(options);
  const part = gatewayPart(owned, options, {
    configMap,
    size: SIZE,
    prefix: VOLUME_PREFIX,
    volumes: [...mountedFiles(mounts, BESIDE_SERVER), ...(callsApiServer(document) ? [TOKEN] : [])],
    securityContext: gatewayUser(options),
    ...(managementPort !== undefined && { managementPort }),
  });
  return {
    ...part,
    configMap: documentConfigMap(owned, configMap, { key: CONFIG_KEY, document, files }),
    annotations: { [CHECKSUM_ANNOTATION]: documentChecksum(document, files) },
  };
}

/** Returns true for a gateway that attaches to its server, or that gets the keys of service account tokens. */
const callsApiServer = ({ vmcp: { backends, incoming } }: GatewayConfig): boolean =>
  incoming.source === 'kubernetes' || backends.some(({ attach }) => attach !== undefined);

/** The token volume that Kubernetes mounts into every container by default; here only into the gateway's. */
const TOKEN: GatewayVolume = {
  mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
  volume: {
    name: `${VOLUME_PREFIX}token`,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: TOKEN_S, path: 'token' } },
        { configMap: { items: [{ key: 'ca.crt', path: 'ca.crt' }], name: 'kube-root-ca.crt' } },
        {
          downwardAPI: {
            items: [{ fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' }, path: 'namespace' }],
          },
        },
      ] satisfies JsonObject[],
    },
  },
};

/** Reports volumes of the user with a name of the gateway's. */
export const volumeProblems = ({ spec: { volumes = [] } }: MCPServer, { object }: Owned): ObjectProblem[] =>
  volumes.flatMap(({ name }, index) =>
    name.startsWith(VOLUME_PREFIX)
      ? [
          {
            ...object,
            path: `spec.volumes[${String(index)}].name`,
            reason: 'ReservedName',
            message: `names that start with ${VOLUME_PREFIX} are reserved for the gateway in the same pod: use another name`,
          },
        ]
      : [],
  );
