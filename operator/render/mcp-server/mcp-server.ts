import type { KubeObject, OwnerReference } from '../../../gateway/kube/resource.ts';
import { serverRunConfig } from '../../../gateway/workloads/server-run-config.ts';
import { hasOwnGateway } from '../../resolve/fields/controls.ts';
import type { MCPServer } from '../../resolve/snapshot.ts';
import { documentConfigMap } from '../objects/config-map.ts';
import { httpWorkload } from './http-server.ts';
import { podFieldProblems } from './pod-fields.ts';
import { serverAccount, serverPullSecrets } from './pod.ts';
import { servicePort, transportOf } from '../mcp-server-ports.ts';
import { serverNetworkPolicy } from '../objects/network-policy.ts';
import type { Rendered, RenderOptions } from '../options.ts';
import { ownedBy, type Owned } from '../owned.ts';
import { serviceAccount } from '../objects/rbac.ts';
import { inOrder } from '../rendered.ts';
import type { ResolvedConfig } from '../resolved-config.ts';
import { service } from '../objects/service.ts';
import { stdioWorkload } from './stdio-server.ts';

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

/** Renders the ServiceAccount, unless the user names an existing one. */
function account(server: MCPServer, owned: Owned, options: RenderOptions): KubeObject[] {
  if (server.spec.serviceAccount !== undefined) return [];
  return [serviceAccount(owned, serverAccount(server), serverPullSecrets(server, options), options)];
}
