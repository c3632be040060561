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

/** Matches that a rule may have in every version of the API: 8 until 1.1, 64 since. */
const MAX_MATCHES = 8;
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
          ...inPieces([
            ...exact.map((path) => match('Exact', path)),
            ...below.map((path) => match('PathPrefix', path)),
          ]).map((matches) => ({ backendRefs, matches })),
        ],
      },
    },
    { labels, annotations },
  );
}

const GATEWAY_API = RESOURCES.HTTPRoute.group;

const match = (type: 'Exact' | 'PathPrefix', value: string): JsonObject => ({ path: { type, value } });

const inPieces = (matches: readonly JsonObject[]): JsonObject[][] =>
  Array.from({ length: Math.ceil(matches.length / MAX_MATCHES) }, (_, piece) =>
    matches.slice(piece * MAX_MATCHES, (piece + 1) * MAX_MATCHES),
  );
