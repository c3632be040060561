import { RESOURCES, type KubeObject } from '../../../gateway/kube/resource.ts';
import { listeningPort } from '../../resolve/own-gateway/pod-backend.ts';
import type { ObjectProblem } from '../../resolve/problems.ts';
import { replicasOf } from '../../resolve/replicas.ts';
import type { MCPServer } from '../../resolve/snapshot.ts';
import { GRACE_S, PUBLIC_PORT, SIDECAR_MANAGEMENT_PORT } from '../gateway/container.ts';
import { serverContainer, serverVolumes } from './container.ts';
import { serverTemplate, workloadAdditions, type Parts } from './pod.ts';
import { sidecar, STOP_SLEEP_S as SLEEP_BESIDE_GATEWAY_S, volumeProblems } from './sidecar.ts';
import type { NamedObject } from '../named-object.ts';
import type { RenderOptions } from '../options.ts';
import { ownedObject, type Owned } from '../owned.ts';
import { ROLLING, sleepBeforeStop } from '../pod.ts';
import { podsOf, type ResolvedConfig } from '../resolved-config.ts';

const STOP_SLEEP_S = 5;

/** Renders a server that speaks HTTP as a Deployment of its image, with its own gateway beside it if it has one. */
export function httpWorkload(
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
    ...(beside ? besideGateway(server, beside) : { containers: [container(server, 'http', STOP_SLEEP_S)] }),
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
  containers: [container(server, 'mcp', SLEEP_BESIDE_GATEWAY_S), gateway.container],
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
