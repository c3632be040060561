import { RESOURCES, type KubeObject } from '../../../gateway/kube/resource.ts';
import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import type { JsonObject } from '../../../gateway/contract/json.ts';
import { routedPaths } from '../../../gateway/contract/paths/public-paths.ts';
import type { VirtualMCPServer } from '../../resolve/snapshot.ts';
import { ownedObject, type Owned } from '../owned.ts';

type Route = NonNullable<VirtualMCPServer['spec']['route']>;

/** Service that a route leads to. */
interface Target {
  readonly name: string;
  readonly port: number;
}

/** No limit: a call may take long, and event streams do not end. */
const STREAM_TIMEOUTS = { request: '0s' };

/**
 * Renders the HTTPRoute with the public paths of a virtual server. Defaults of the API are written out, because a rule must not get
 * further members.
 */
export function httpRoute(owned: Owned, target: Target, route: Route, config: GatewayConfig): KubeObject {
  const { parentRefs, hostnames, timeouts = STREAM_TIMEOUTS, labels = {}, annotations = {} } = route;
  const { streams, exact, below } = routedPaths(config);
  const backendRefs = [{ group: '', kind: 'Service', name: target.name, port: target.port, weight: 1 }];
  const limits = Object.keys(timeouts).length > 0 ? { timeouts } : {};
  return ownedObject(
    owned,
    RESOURCES.HTTPRoute,
    target.name,
    {
      spec: {
        parentRefs: parentRefs.map(({ kind = 'Gateway', ...parent }) => ({ group: GATEWAY_API, kind, ...parent })),
        ...(hostnames && hostnames.length > 0 && { hostnames }),
        rules: [
          { backendRefs, matches: streams.map((path) => match('PathPrefix', path)), ...limits },
          {
            backendRefs,
            matches: [...exact.map((path) => match('Exact', path)), ...below.map((path) => match('PathPrefix', path))],
          },
        ],
      },
    },
    { labels, annotations },
  );
}

const GATEWAY_API = RESOURCES.HTTPRoute.group;

const match = (type: 'Exact' | 'PathPrefix', value: string): JsonObject => ({ path: { type, value } });
