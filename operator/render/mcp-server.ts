import { type KubeObject, type OwnerReference, RESOURCES } from '../../gateway/kube/resource.ts';
import { serverRunConfig } from '../../gateway/workloads/server-run-config.ts';
import { hasOwnGateway } from '../resolve/fields/controls.ts';
import type { MCPServer } from '../resolve/snapshot.ts';
import {
  documentConfigMap,
  servicePort,
  transportOf,
  serverNetworkPolicy,
  serviceAccount,
  attachRules,
  roleFor,
  service,
} from './objects.ts';
import {
  podFieldProblems,
  serverAccount,
  serverPullSecrets,
  serverTemplate,
  workloadAdditions,
  type Parts,
  serverContainer,
  serverVolumes,
} from './mcp-server-pod.ts';
import type { Rendered, RenderOptions } from './options.ts';
import {
  ownedBy,
  type Owned,
  ownedObject,
  type NamedObject,
  inOrder,
  type ResolvedConfig,
  podsOf,
  ROLLING,
  sleepBeforeStop,
} from './owned.ts';
import { listeningPort, stdioPod } from '../resolve/own-gateway.ts';
import type { ObjectProblem } from '../resolve/scope.ts';
import { replicasOf } from '../resolve/replicas.ts';
import { GRACE_S, PUBLIC_PORT, SIDECAR_MANAGEMENT_PORT, bridgeDocument } from './gateway.ts';
import { sidecar, volumeProblems, STOP_SLEEP_S, type Sidecar } from './sidecar.ts';

const RUN_CONFIG_KEY = 'runconfig.json';

/** Renders all objects of one MCPServer. `gateway` is its own gateway, which every request passes. */
export function renderMCPServer(
  server: MCPServer,
  owner: OwnerReference,
  options: RenderOptions,
  gateway?: ResolvedConfig,
): Rendered {
  const { metadata, spec } = server;
  if (hasOwnGateway(server) && !gateway) throw new Error(`the gateway of MCPServer "${metadata.name}" is missing`);
  const owned = ownedBy('MCPServer', metadata, owner);
  const problems = podFieldProblems(server, owned.object);
  if (problems.length > 0) return { problems };
  const name = `mcp-${metadata.name}`;
  const render = transportOf(spec) === 'stdio' ? stdioWorkload : httpWorkload;
  const workload = render(server, owned, options, { name, gateway });
  if ('problems' in workload) return workload;
  const exposure = { sessionAffinity: spec.sessionAffinity, port: servicePort(spec) };
  return inOrder([
    ...workload.objects,
    ...account(server, owned, options),
    documentConfigMap(owned, `${name}-runconfig`, { key: RUN_CONFIG_KEY, document: serverRunConfig(server) }),
    service(owned, name, exposure, spec.resourceOverrides?.proxyService),
    ...serverNetworkPolicy(server, owned, name, options),
  ]);
}

/** Renders the ServiceAccount, unless the user names an account. */
function account(server: MCPServer, owned: Owned, options: RenderOptions): KubeObject[] {
  if (server.spec.serviceAccount !== undefined) return [];
  return [serviceAccount(owned, serverAccount(server), serverPullSecrets(server, options), options)];
}

const SERVER_STOP_SLEEP_S = 5;

/** Renders a server that speaks HTTP as a Deployment of its image, with its own gateway beside it if it has one. */
function httpWorkload(
  server: MCPServer,
  owned: Owned,
  options: RenderOptions,
  { name, gateway }: { readonly name: string; readonly gateway?: ResolvedConfig | undefined },
): { readonly objects: KubeObject[] } | { readonly problems: ObjectProblem[] } {
  const { spec } = server;
  const problems = gateway ? [...volumeProblems(server, owned), ...portProblems(server, owned)] : [];
  const beside =
    gateway &&
    sidecar(owned, options, name, {
      document: gateway.config,
      mounts: gateway.mounts,
      managementPort: SIDECAR_MANAGEMENT_PORT,
    });
  const patched = serverTemplate(server, owned, options, {
    volumes: [...serverVolumes(spec), ...(beside?.volumes ?? [])],
    ...(beside ? besideGateway(server, beside) : { containers: [container(server, 'http', SERVER_STOP_SLEEP_S)] }),
  });
  if ('problems' in patched) return { problems: [...problems, ...patched.problems] };
  if (problems.length > 0) return { problems };
  const replicas = podsOf(replicasOf(spec), gateway);
  const members = {
    spec: {
      ...(replicas !== undefined && { replicas }),
      selector: { matchLabels: owned.selector },
      strategy: ROLLING,
      template: patched.template,
    },
  };
  const deployment = ownedObject(owned, RESOURCES.Deployment, name, members, workloadAdditions(server));
  return { objects: [...(beside ? [beside.configMap] : []), deployment] };
}

/** Returns the container of the server. The Service leads to the port that is named `http`. */
const container = ({ spec }: MCPServer, port: string, stopSleepS: number): NamedObject => ({
  ...serverContainer(spec),
  lifecycle: sleepBeforeStop(stopSleepS),
  ports: [{ containerPort: listeningPort(spec), name: port, protocol: 'TCP' }],
  readinessProbe: { failureThreshold: 3, periodSeconds: 5, tcpSocket: { port }, timeoutSeconds: 3 },
});

/** Renders the parts of a pod in which the gateway has the port of the Service. */
const besideGateway = (
  server: MCPServer,
  gateway: Pick<ReturnType<typeof sidecar>, 'container' | 'annotations'>,
): Pick<Parts, 'containers' | 'members' | 'annotations'> => ({
  containers: [container(server, 'mcp', STOP_SLEEP_S), gateway.container],
  members: { terminationGracePeriodSeconds: GRACE_S },
  annotations: gateway.annotations,
});

/** Reports a port of the server that its own gateway needs in the same pod. */
function portProblems({ spec }: MCPServer, { object }: Owned): ObjectProblem[] {
  const port = listeningPort(spec);
  if (port !== PUBLIC_PORT && port !== SIDECAR_MANAGEMENT_PORT) return [];
  const message = `its own gateway listens on port ${String(port)} in the same pod: use another port`;
  return [{ ...object, path: 'spec.mcpPort', reason: 'ReservedPort', message }];
}

/** Renders a stdio server as a StatefulSet of its image and a gateway container that attaches to it. */
function stdioWorkload(
  server: MCPServer,
  owned: Owned,
  options: RenderOptions,
  { name, gateway }: { readonly name: string; readonly gateway?: ResolvedConfig | undefined },
): { readonly objects: KubeObject[] } | { readonly problems: ObjectProblem[] } {
  const problems = volumeProblems(server, owned);
  const document = gateway?.config ?? bridgeDocument(server, owned.object.namespace);
  const beside = sidecar(owned, options, name, { document, mounts: gateway?.mounts ?? [] });
  const patched = podTemplate(server, owned, options, beside);
  if ('problems' in patched) return { problems: [...problems, ...patched.problems] };
  if (problems.length > 0) return { problems };
  const spec = {
    // The default policy would let a pod that never became ready block its replacement.
    podManagementPolicy: 'Parallel',
    // A second pod would be a separate server with its own state.
    replicas: Math.min(1, replicasOf(server.spec) ?? 1),
    selector: { matchLabels: owned.selector },
    serviceName: name,
    template: patched.template,
  };
  return {
    objects: [
      beside.configMap,
      ...roleFor(owned, `${server.metadata.name}-mcp`, serverAccount(server), attachRules(stdioPod(server))),
      ownedObject(owned, RESOURCES.StatefulSet, name, { spec }, workloadAdditions(server)),
    ],
  };
}

function podTemplate(server: MCPServer, owned: Owned, options: RenderOptions, gateway: Sidecar) {
  const { spec } = server;
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
    annotations: gateway.annotations,
  });
}
