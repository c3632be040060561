import type { KubeObject } from '../../../gateway/kube/resource.ts';
import type { ObjectProblem } from '../../resolve/problems.ts';
import { compareText } from '../../resolve/snapshot.ts';
import { fails, holds, isOpen, type Claim } from '../claim.ts';
import { statusOf } from '../conditions.ts';

/** How the backends are, as the gateways have written it. */
export interface BackendHealth {
  /** Backends that are served; undefined where the spec does not say. */
  readonly served: number | undefined;
  readonly reported: number;
  /** Reported ones to which calls are routed. */
  readonly working: number;
  /** Reported ones of which something is wrong, by name. */
  readonly ailing: readonly string[];
  /** Nothing is known of any of those that were reported. */
  readonly unknown: boolean;
}

interface Discovered {
  readonly name: string;
  readonly status?: string;
}

const FINE: ReadonlySet<string> = new Set(['ready', 'unauthenticated']);

/** `served` are the names of the backends in the configuration; undefined where there is none. */
export function backendHealth(object: KubeObject, served: readonly string[] | undefined): BackendHealth {
  const { discoveredBackends } = statusOf(object);
  const all = Array.isArray(discoveredBackends) ? (discoveredBackends as Discovered[]) : [];
  const reported = all
    .filter(({ name }) => served?.includes(name) ?? true)
    .map(({ name, status = 'unknown' }) => ({ name, status }))
    .toSorted((a, b) => compareText(a.name, b.name));
  return {
    served: served?.length,
    reported: reported.length,
    working: reported.filter(({ status }) => FINE.has(status) || status === 'degraded').length,
    ailing: reported.filter(({ status }) => !FINE.has(status)).map(({ name, status }) => `${name} (${status})`),
    unknown: reported.length > 0 && reported.every(({ status }) => status === 'unknown'),
  };
}

/** Apart from `Ready`, which stays true while some backends work. */
export function backendsHealthyClaim({ served, reported, working, ailing, unknown }: BackendHealth): Claim {
  const type = 'BackendsHealthy';
  if (served === 0) return isOpen(type, 'NoBackends', 'no backend is served');
  if (reported === 0) return isOpen(type, 'BackendsNotReported', 'no gateway has said yet how the backends are');
  if (unknown) return isOpen(type, 'BackendsUnknown', 'no backend was probed yet');
  if (ailing.length === 0) return holds(type, 'AllBackendsRoutable', 'calls reach every backend');
  const names = ailing.join(', ');
  if (working === 0) return fails(type, 'NoRoutableBackends', `calls reach no backend: ${names}`);
  return fails(type, 'SomeBackendsUnhealthy', `not every backend is well: ${names}`);
}

interface RuntimeProblem {
  readonly reason: string;
  readonly path?: string;
  readonly message: string;
}

/** What only the running gateways could find out. */
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
