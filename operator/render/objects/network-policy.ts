import { API_GROUP } from '../../../gateway/contract/api-group.ts';
import { RESOURCES, type KubeObject } from '../../../gateway/kube/resource.ts';
import type { MCPServer } from '../../resolve/snapshot.ts';
import { MANAGEMENT_PORT, PUBLIC_PORT } from '../gateway/container.ts';
import { listeningPort, transportOf } from '../mcp-server-ports.ts';
import type { RenderOptions } from '../options.ts';
import { GATEWAYS, ownedObject, type Owned } from '../owned.ts';
import type { JsonObject } from '../../../gateway/contract/json.ts';

/** Label of namespaces whose pods can read metrics. */
const MONITORING_LABEL = { [`${API_GROUP}/monitoring`]: 'true' };

const tcp = (port: number) => [{ port, protocol: 'TCP' }];

const FOR_MONITORING: JsonObject = {
  from: [{ namespaceSelector: { matchLabels: MONITORING_LABEL } }],
  ports: tcp(MANAGEMENT_PORT),
};

/** Renders the policy of a gateway: the endpoint is open to all, metrics to monitoring namespaces. */
export const gatewayNetworkPolicy = (owned: Owned, name: string, options: RenderOptions): KubeObject[] =>
  policy(owned, name, options, [{ ports: tcp(PUBLIC_PORT) }, FOR_MONITORING]);

/** Renders the policy of a server: only gateways of its namespace can connect, since only they authenticate clients. */
export function serverNetworkPolicy(
  { spec }: MCPServer,
  owned: Owned,
  name: string,
  options: RenderOptions,
): KubeObject[] {
  const from = [{ podSelector: { matchLabels: GATEWAYS } }];
  return policy(
    owned,
    name,
    options,
    transportOf(spec) === 'stdio'
      ? [{ from, ports: tcp(PUBLIC_PORT) }, FOR_MONITORING]
      : [{ from, ports: tcp(listeningPort(spec)) }],
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
