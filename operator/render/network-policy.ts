import { API_GROUP } from '../../crds/kinds/kind.ts';
import { RESOURCES, type KubeObject } from '../../gateway/kube/resource.ts';
import { MANAGEMENT_PORT, PUBLIC_PORT } from './gateway-container.ts';
import type { RenderOptions } from './options.ts';
import { ownedObject, type Owned } from './owned.ts';

/** Label of the namespaces from which metrics are read. */
const MONITORING_LABEL = { [`${API_GROUP}/monitoring`]: 'true' };

const tcp = (port: number) => [{ port, protocol: 'TCP' }];

/** Who reaches a gateway: everyone its endpoint, monitoring its metrics. Where it calls is not narrowed. */
export const networkPolicy = (owned: Owned, name: string, { networkPolicies }: RenderOptions): KubeObject[] =>
  networkPolicies
    ? [
        ownedObject(owned, RESOURCES.NetworkPolicy, name, {
          spec: {
            ingress: [
              { ports: tcp(PUBLIC_PORT) },
              { from: [{ namespaceSelector: { matchLabels: MONITORING_LABEL } }], ports: tcp(MANAGEMENT_PORT) },
            ],
            podSelector: { matchLabels: owned.selector },
            policyTypes: ['Ingress'],
          },
        }),
      ]
    : [];
