import { API_GROUP } from '../../../gateway/contract/api-group.ts';
import { RESOURCES, type KubeObject } from '../../../gateway/kube/resource.ts';
import type { MCPServer } from '../../resolve/snapshot.ts';
import { authenticatesClients, hasOwnGateway } from '../../resolve/fields/controls.ts';
import { listeningPort } from '../../resolve/own-gateway/pod-backend.ts';
import { MANAGEMENT_PORT, PUBLIC_PORT, SIDECAR_MANAGEMENT_PORT } from '../gateway/container.ts';
import { transportOf } from '../mcp-server-ports.ts';
import type { RenderOptions } from '../options.ts';
import { GATEWAYS, ownedObject, type Owned } from '../owned.ts';
import type { JsonObject } from '../../../gateway/contract/json.ts';

/** Label of namespaces whose pods can read metrics. */
const MONITORING_LABEL = { [`${API_GROUP}/monitoring`]: 'true' };

const tcp = (port: number) => [{ port, protocol: 'TCP' }];

const forMonitoring = (port: number): JsonObject => ({
  from: [{ namespaceSelector: { matchLabels: MONITORING_LABEL } }],
  ports: tcp(port),
});

/** Renders the policy of a gateway: the endpoint is open to all, metrics to monitoring namespaces. */
export const gatewayNetworkPolicy = (owned: Owned, name: string, options: RenderOptions): KubeObject[] =>
  policy(owned, name, options, [{ ports: tcp(PUBLIC_PORT) }, forMonitoring(MANAGEMENT_PORT)]);

/**
 * Renders the policy of a server: only gateways of its namespace can connect, unless its own gateway authenticates
 * clients. Beside a gateway nobody can connect to the port of the server itself.
 */
export function serverNetworkPolicy(
  server: MCPServer,
  owned: Owned,
  name: string,
  options: RenderOptions,
): KubeObject[] {
  const { spec } = server;
  const from = authenticatesClients(server) ? {} : { from: [{ podSelector: { matchLabels: GATEWAYS } }] };
  const isStdio = transportOf(spec) === 'stdio';
  return policy(
    owned,
    name,
    options,
    isStdio || hasOwnGateway(server)
      ? [{ ...from, ports: tcp(PUBLIC_PORT) }, forMonitoring(isStdio ? MANAGEMENT_PORT : SIDECAR_MANAGEMENT_PORT)]
      : [{ ...from, ports: tcp(listeningPort(spec)) }],
  );
}

/** Renders an ingress policy. Egress is not restricted. */
const policy = (
  owned: Owned,
  name: string,
  { networkPolicies }: RenderOptions,
  ingress: readonly JsonObject[],
): KubeObject[] =>
  networkPolicies
    ? [
        ownedObject(owned, RESOURCES.NetworkPolicy, name, {
          spec: { ingress, podSelector: { matchLabels: owned.selector }, policyTypes: ['Ingress'] },
        }),
      ]
    : [];
