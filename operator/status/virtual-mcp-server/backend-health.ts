import type { KubeObject } from '../../../gateway/kube/resource.ts';
import type { ObjectProblem } from '../../resolve/scope.ts';
import { compareText } from '../../resolve/snapshot.ts';
import {
  failedCondition,
  trueCondition,
  unknownCondition,
  type ConditionState,
  statusOf,
  cutMessage,
} from '../conditions.ts';

/** Health of the backends as the gateways reported it. */
export interface BackendHealth {
  /** Number of backends served; undefined when the spec is invalid. */
  readonly served: number | undefined;
  readonly reported: number;
  /** Number of reported backends to which calls are routed. */
  readonly working: number;
  /** Reported backends that are not healthy, each as `name (status)` or `name (status: cause)`. */
  readonly unhealthy: readonly string[];
  /** True when the status of every reported backend is `unknown`. */
  readonly unknown: boolean;
}

interface Discovered {
  readonly name: string;
  readonly status?: string;
  readonly message?: string;
}

interface Reported extends Omit<Required<Discovered>, 'message'> {
  readonly message: string | undefined;
}

/** Most characters of the cause of a backend. */
const LONGEST_CAUSE = 300;

const HEALTHY: ReadonlySet<string> = new Set(['ready', 'unauthenticated']);

/** Summarises the reported backends. `served` are the backends' names in the configuration, if there is one. */
export function backendHealth(object: KubeObject, served: readonly string[] | undefined): BackendHealth {
  const { discoveredBackends } = statusOf(object);
  const all = Array.isArray(discoveredBackends) ? (discoveredBackends as Discovered[]) : [];
  const reported = all
    .filter(({ name }) => served?.includes(name) ?? true)
    .map(({ name, status = 'unknown', message }) => ({ name, status, message }))
    .toSorted((a, b) => compareText(a.name, b.name));
  return {
    served: served?.length,
    reported: reported.length,
    working: reported.filter(({ status }) => HEALTHY.has(status) || status === 'degraded').length,
    unhealthy: reported.filter(({ status }) => !HEALTHY.has(status)).map(described),
    unknown: reported.length > 0 && reported.every(({ status }) => status === 'unknown'),
  };
}

const described = ({ name, status, message }: Reported): string =>
  `${name} (${status}${message === undefined ? '' : `: ${message.slice(0, LONGEST_CAUSE)}`})`;

/** Builds `BackendsHealthy`, which can be false while `Ready` is true: some backends work. */
export function backendsHealthyCondition({
  served,
  reported,
  working,
  unhealthy,
  unknown,
}: BackendHealth): ConditionState {
  const type = 'BackendsHealthy';
  if (served === 0) return unknownCondition(type, 'NoBackends', 'no backend is served');
  if (reported === 0) return unknownCondition(type, 'BackendsNotReported', 'no gateway has reported its backends yet');
  if (unknown) return unknownCondition(type, 'BackendsUnknown', 'no backend has been probed yet');
  if (unhealthy.length === 0) return trueCondition(type, 'AllBackendsRoutable', 'every backend can be called');
  const names = unhealthy.join(', ');
  if (working === 0)
    return failedCondition(type, 'NoRoutableBackends', cutMessage(`no backend can be called: ${names}`));
  return failedCondition(type, 'SomeBackendsUnhealthy', cutMessage(`some backends are not healthy: ${names}`));
}

interface RuntimeProblem {
  readonly reason: string;
  readonly path?: string;
  readonly message: string;
}

/** Lists the problems that running gateways reported. */
export function runtimeProblems(object: KubeObject): ObjectProblem[] {
  const { runtimeProblems: found } = statusOf(object);
  const { kind, metadata } = object;
  return (Array.isArray(found) ? (found as RuntimeProblem[]) : []).map(({ reason, path = 'spec', message }) => ({
    kind,
    namespace: metadata.namespace ?? 'default',
    name: metadata.name,
    reason,
    path,
    message,
  }));
}
