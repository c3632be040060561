import type { KubeObject } from '../../../gateway/kube/resource.ts';
import type { VirtualMCPServer } from '../../resolve/snapshot.ts';
import { failedCondition, trueCondition, unknownCondition, type ConditionState } from '../condition-state.ts';

type Route = NonNullable<VirtualMCPServer['spec']['route']>;
type Parent = Route['parentRefs'][number];

/** Condition that a controller of the Gateway API writes. */
interface ParentCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly observedGeneration?: number;
}

/** Verdict of one controller on one parent. @see https://gateway-api.sigs.k8s.io/reference/spec/#routeparentstatus */
interface ParentStatus {
  readonly parentRef: Parent;
  readonly conditions?: readonly ParentCondition[];
}

const TYPE = 'RouteAccepted';
/** Conditions of a parent that must all be true. */
const VERDICTS: ReadonlySet<string> = new Set(['Accepted', 'ResolvedRefs']);

/** Builds `RouteAccepted`, present while the spec has a route, from the verdicts of the Gateways. */
export function routeConditions(
  route: Route | undefined,
  live: KubeObject | undefined,
  isServed: boolean,
): ConditionState[] {
  if (!route) return [];
  if (!isServed) {
    const message =
      'the API server has no HTTPRoute of gateway.networking.k8s.io/v1, or the operator may not list it: install the Gateway API, or remove spec.route; the operator looks again within 10 s';
    return [failedCondition(TYPE, 'GatewayAPIMissing', message)];
  }
  const verdicts = route.parentRefs.map((parent) => ({ name: nameOf(parent), faults: faultsOf(parent, live) }));
  const faults = verdicts.flatMap(({ name, faults: found = [] }) => found.map((fault) => `${name}: ${fault}`));
  if (faults.length > 0) return [failedCondition(TYPE, 'RouteRejected', faults.join('; '))];
  const waiting = verdicts.filter((verdict) => verdict.faults === undefined).map(({ name }) => name);
  if (waiting.length === 0) {
    const message = `accepted by ${verdicts.map(({ name }) => name).join(', ')}`;
    return [trueCondition(TYPE, 'RouteAccepted', message)];
  }
  const message = `no verdict of ${waiting.join(', ')} yet: if this stays, check that it exists and that its controller runs`;
  return [unknownCondition(TYPE, 'RoutePending', message)];
}

/** Returns the reasons why a parent does not serve the route; undefined before the verdict on its current spec. */
function faultsOf(parent: Parent, live: KubeObject | undefined): string[] | undefined {
  const generation = live?.metadata.generation ?? 0;
  const { parents = [] } = (live?.['status'] ?? {}) as { readonly parents?: readonly ParentStatus[] };
  const verdicts = parents
    .filter(({ parentRef }) => isSame(parentRef, parent, live?.metadata.namespace))
    .flatMap(({ conditions = [] }) => conditions.filter(({ type }) => VERDICTS.has(type)))
    .filter(({ observedGeneration = generation }) => observedGeneration >= generation);
  if (!verdicts.some(({ type }) => type === 'Accepted')) return undefined;
  return verdicts
    .filter(({ status }) => status !== 'True')
    .map(({ reason = '', message = '' }) => (message === '' ? reason : `${message} (${reason})`));
}

function isSame(a: Parent, b: Parent, namespace: string | undefined): boolean {
  const key = ({ kind = 'Gateway', namespace: place = namespace, name, sectionName, port }: Parent): string =>
    JSON.stringify([kind, place, name, sectionName, port]);
  return key(a) === key(b);
}

const nameOf = ({ kind = 'Gateway', name, namespace, sectionName }: Parent): string =>
  `${kind} "${namespace === undefined ? '' : `${namespace}/`}${name}"${sectionName === undefined ? '' : ` (${sectionName})`}`;
