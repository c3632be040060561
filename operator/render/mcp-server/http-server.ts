import { RESOURCES, type KubeObject } from '../../../gateway/kube/resource.ts';
import type { ObjectProblem } from '../../resolve/problems.ts';
import type { MCPServer } from '../../resolve/snapshot.ts';
import { serverContainer, serverVolumes } from './container.ts';
import { serverTemplate, workloadAdditions } from './pod.ts';
import { listeningPort } from '../mcp-server-ports.ts';
import type { RenderOptions } from '../options.ts';
import { ownedObject, type Owned } from '../owned.ts';
import { ROLLING, sleepBeforeStop } from '../pod.ts';

const STOP_SLEEP_S = 5;

/** Renders a server that speaks HTTP as a Deployment of its image. */
export function httpWorkload(
  server: MCPServer,
  owned: Owned,
  options: RenderOptions,
  name: string,
): { readonly objects: KubeObject[] } | { readonly problems: ObjectProblem[] } {
  const { spec } = server;
  const container = {
    ...serverContainer(spec),
    lifecycle: sleepBeforeStop(STOP_SLEEP_S),
    ports: [{ containerPort: listeningPort(spec), name: 'http', protocol: 'TCP' }],
    readinessProbe: { failureThreshold: 3, periodSeconds: 5, tcpSocket: { port: 'http' }, timeoutSeconds: 3 },
  };
  const patched = serverTemplate(server, owned, options, { containers: [container], volumes: serverVolumes(spec) });
  if ('problems' in patched) return patched;
  const replicas = spec.replicas ?? spec.backendReplicas;
  const members = {
    spec: {
      ...(replicas !== undefined && { replicas }),
      selector: { matchLabels: owned.selector },
      strategy: ROLLING,
      template: patched.template,
    },
  };
  return { objects: [ownedObject(owned, RESOURCES.Deployment, name, members, workloadAdditions(server))] };
}
