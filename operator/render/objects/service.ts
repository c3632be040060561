import { RESOURCES, type KubeObject } from '../../../gateway/kube/resource.ts';
import type { JsonObject } from '../../../gateway/contract/json.ts';
import type { Additions } from '../inherited.ts';
import { ownedObject, type Owned } from '../owned.ts';

interface Exposure {
  readonly type?: string | undefined;
  readonly sessionAffinity?: string | undefined;
  readonly port: number;
  /** Further members of the spec. */
  readonly balancer?: JsonObject;
}

/** Renders a Service with one port, which targets the port `http` of the pods. */
export const service = (
  owned: Owned,
  name: string,
  { type = 'ClusterIP', sessionAffinity = 'ClientIP', port, balancer }: Exposure,
  additions?: Additions,
): KubeObject =>
  ownedObject(
    owned,
    RESOURCES.Service,
    name,
    {
      spec: {
        ports: [{ name: 'http', port, protocol: 'TCP', targetPort: 'http' }],
        selector: owned.selector,
        sessionAffinity,
        type,
        ...balancer,
      },
    },
    additions,
  );
