import { RESOURCES, type KubeObject } from '../../../gateway/kube/resource.ts';
import type { ObjectProblem } from '../../resolve/problems.ts';
import type { MCPServer } from '../../resolve/snapshot.ts';
import { documentChecksum, documentConfigMap } from '../objects/config-map.ts';
import { gatewayPart, gatewayUser, GRACE_S, type GatewayVolume, type Size } from '../gateway/container.ts';
import { bridgeDocument, CONFIG_KEY } from '../gateway/documents.ts';
import { SERVER_CONTAINER, serverContainer, serverVolumes } from './container.ts';
import { serverAccount, serverTemplate, workloadAdditions } from './pod.ts';
import type { RenderOptions } from '../options.ts';
import { CHECKSUM_ANNOTATION, ownedObject, type Owned } from '../owned.ts';
import { sleepBeforeStop } from '../pod.ts';
import { attachRules, roleFor } from '../objects/rbac.ts';
import type { JsonObject } from '../../../gateway/contract/json.ts';

const SIZE: Size = { cpu: '50m', memory: '128Mi', limit: '384Mi', heapMi: 288 };
/** Time in which the gateway in the same pod rejects new calls and finishes most running ones. */
const STOP_SLEEP_S = 10;
const VOLUME_PREFIX = 'vmcp-';
const TOKEN_S = 3607;

/** Renders a stdio server as a StatefulSet of its image and a gateway container that attaches to it. */
export function stdioWorkload(
  server: MCPServer,
  owned: Owned,
  options: RenderOptions,
  name: string,
): { readonly objects: KubeObject[] } | { readonly problems: ObjectProblem[] } {
  const problems = volumeProblems(server, owned);
  const pod = `${name}-0`;
  const configMap = `${name}-gateway-config`;
  const document = bridgeDocument(server, owned.object.namespace, pod, SERVER_CONTAINER);
  const patched = podTemplate(server, owned, options, { configMap, checksum: documentChecksum(document) });
  if ('problems' in patched) return { problems: [...problems, ...patched.problems] };
  if (problems.length > 0) return { problems };
  const spec = {
    // The default policy would let a pod that never became ready block its replacement.
    podManagementPolicy: 'Parallel',
    // A second pod would be a separate server with its own state.
    replicas: Math.min(1, server.spec.replicas ?? 1),
    selector: { matchLabels: owned.selector },
    serviceName: name,
    template: patched.template,
  };
  return {
    objects: [
      documentConfigMap(owned, configMap, CONFIG_KEY, document),
      ...roleFor(owned, `${server.metadata.name}-mcp`, serverAccount(server), attachRules(pod)),
      ownedObject(owned, RESOURCES.StatefulSet, name, { spec }, workloadAdditions(server)),
    ],
  };
}

function podTemplate(
  server: MCPServer,
  owned: Owned,
  options: RenderOptions,
  { configMap, checksum }: { readonly configMap: string; readonly checksum: string },
) {
  const { spec } = server;
  const gateway = gatewayPart(owned, options, {
    configMap,
    size: SIZE,
    prefix: VOLUME_PREFIX,
    volumes: [TOKEN],
    securityContext: gatewayUser(options),
  });
  const container = {
    ...serverContainer(spec),
    lifecycle: sleepBeforeStop(STOP_SLEEP_S),
    stdin: true,
    // The end of the stream ends the server; the next one starts with a new stream.
    stdinOnce: true,
  };
  return serverTemplate(server, owned, options, {
    containers: [container, gateway.container],
    volumes: [...serverVolumes(spec), ...gateway.volumes],
    // The account can attach to pods: only the gateway gets its token, not the server.
    members: { automountServiceAccountToken: false, terminationGracePeriodSeconds: GRACE_S },
    annotations: { [CHECKSUM_ANNOTATION]: checksum },
  });
}

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

const volumeProblems = ({ spec: { volumes = [] } }: MCPServer, { object }: Owned): ObjectProblem[] =>
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
