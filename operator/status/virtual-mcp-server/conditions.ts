import { hasUsers } from '../../../gateway/incoming/index.ts';
import { type ObjectProblem, CONSEQUENCE_REASON } from '../../resolve/scope.ts';
import { CREDENTIAL_WITHHELD } from '../../resolve/backends/release.ts';
import type { Snapshot, VirtualMCPServer } from '../../resolve/snapshot.ts';
import type { ExcludedMember, Resolution } from '../../resolve/vmcp.ts';
import { appliedConditions, podTemplateCondition } from '../applied.ts';
import {
  advisoryConditions,
  failedCondition,
  trueCondition,
  falseCondition,
  validityCondition,
  warningCondition,
  type ConditionState,
  unknownCondition,
  problemsMessage,
  type Self,
} from '../conditions.ts';
import { outgoingAuthConditions } from './outgoing-auth.ts';
import { isAdvice, rowsOf, WARNING_TABLE, type WarningRow } from './problem-table.ts';
import { sessionStorageCondition } from '../session-storage.ts';
import type { Rollout, ObservedWorkload } from '../pods.ts';
import type { KubeObject } from '../../../gateway/kube/resource.ts';

interface Facts {
  readonly snapshot: Snapshot;
  readonly refused?: readonly ObjectProblem[];
  readonly resolution?: Resolution;
  readonly servesRoutes?: boolean;
  readonly observed: ObservedWorkload;
  readonly vmcp: VirtualMCPServer | undefined;
  readonly runtime: readonly ObjectProblem[];
  readonly rollout: Rollout | undefined;
  readonly self: Self;
}

/** Builds all conditions other than `Ready` and `BackendsHealthy`. */
export function fieldConditions(facts: Facts): ConditionState[] {
  const { snapshot, refused = [], resolution, observed, vmcp, runtime, rollout, self } = facts;
  const problems = resolution?.problems ?? [];
  const rest = problems.filter((problem) => rowsOf(problem).length === 0);
  const good = { reason: 'ValidationSucceeded', message: 'the spec is valid' };
  return [
    validityCondition('Valid', good, [...refused, ...rest], () => 'ValidationFailed', self),
    ...appliedConditions(
      {
        problems: observed.problems,
        exists: observed.workload !== undefined,
        isCurrent: resolution?.config !== undefined,
      },
      self,
    ),
    ...runtimeConditions(runtime, self),
    ...(vmcp && resolution
      ? [
          ...tableConditions(vmcp, problems, self),
          ...warningConditions(vmcp, resolution, self),
          ...outgoingAuthConditions(vmcp, snapshot, resolution, runtime, self),
          ...withheldConditions(resolution.excluded, self),
          discoveryCondition(resolution.excluded, resolution.config?.vmcp.backends.length, self),
          sessionStorageCondition(vmcp.spec, rollout),
          ...podConditions(vmcp, facts),
          ...routeConditions(vmcp.spec.route, observed.route, facts.servesRoutes === true),
          ...advisoryConditions(resolution.warnings.filter(isAdvice), self),
        ]
      : []),
  ];
}

/** Builds the conditions of the problem table for the fields that the spec has. */
function tableConditions(vmcp: VirtualMCPServer, problems: readonly ObjectProblem[], self: Self): ConditionState[] {
  const { groupRef, authServerConfig } = vmcp.spec;
  const condition = (type: string, reason: string, message: string): ConditionState => {
    const about = problems.filter((problem) => rowsOf(problem).some((row) => row.type === type));
    const reasonOf = (problem: ObjectProblem): string =>
      rowsOf(problem).find((row) => row.type === type)?.reason ?? reason;
    return validityCondition(type, { reason, message }, about, reasonOf, self);
  };
  const configs = configsOf(vmcp).filter(({ names }) => names.length > 0);
  return [
    condition('GroupRefValidated', 'GroupRefValid', `MCPGroup "${groupRef.name}" exists`),
    condition('AuthConfigured', 'AuthValid', 'every referenced Secret and ConfigMap has its key'),
    ...configs.map(({ type, good, kind, names }) => {
      const quoted = names.map((name) => `"${name}"`).join(', ');
      return condition(type, good, `${kind} ${quoted} ${names.length === 1 ? 'is' : 'are'} used`);
    }),
    ...(authServerConfig
      ? [
          condition(
            'AuthServerConfigValidated',
            'AuthServerConfigValid',
            'the authorization server matches this server',
          ),
        ]
      : []),
  ];
}

/** Condition of the references to objects of one config kind. */
interface ConfigCondition {
  readonly type: string;
  readonly good: string;
  readonly kind: string;
  readonly names: readonly string[];
}

/** Lists the conditions of references, with the names that the spec refers to. */
function configsOf({ spec }: VirtualMCPServer): ConfigCondition[] {
  const { incomingAuth, telemetryConfigRef, webhookConfigRef, config } = spec;
  const namesOf = (...refs: readonly ({ readonly name: string } | undefined)[]): string[] =>
    [...new Set(refs.flatMap((ref) => ref?.name ?? []))].toSorted();
  const row = (kind: string, type: string, good: string, names: readonly string[]) => ({ kind, type, good, names });
  const shared = (config?.aggregation?.tools ?? []).map(({ toolConfigRef }) => toolConfigRef);
  return [
    row('MCPOIDCConfig', 'OIDCConfigRefValidated', 'OIDCConfigRefValid', namesOf(incomingAuth.oidcConfigRef)),
    row('MCPAuthzConfig', 'AuthzConfigRefValidated', 'AuthzConfigRefValid', namesOf(incomingAuth.authzConfigRef)),
    row('MCPTelemetryConfig', 'TelemetryConfigRefValidated', 'TelemetryConfigRefValid', namesOf(telemetryConfigRef)),
    row('MCPWebhookConfig', 'WebhookConfigValidated', 'WebhookConfigValid', namesOf(webhookConfigRef)),
    row('MCPToolConfig', 'ToolConfigRefValidated', 'ToolConfigRefValid', namesOf(...shared)),
  ];
}

function warningConditions({ spec }: VirtualMCPServer, { warnings }: Resolution, self: Self): ConditionState[] {
  const exists = ({ about }: WarningRow): boolean =>
    about === 'authServer' ? spec.authServerConfig !== undefined : hasUsers(spec.incomingAuth.type);
  return WARNING_TABLE.filter(exists).map(({ type, warning, reason, good }) => {
    const found = warnings.filter((each) => each.reason === warning);
    if (found.length === 0) return falseCondition(type, good.reason, good.message);
    return warningCondition(type, reason, problemsMessage(found, self));
  });
}

/** Messages for a group without members, and for a configuration with problems, such as a group that does not exist. */
const NOT_LEFT_OUT: ReadonlyMap<number | undefined, string> = new Map([
  [0, 'the group has no members'],
  [undefined, 'no member is left out'],
]);

/** Builds `BackendsDiscovered`, false when members are excluded. The other members are served. */
function discoveryCondition(
  excluded: readonly ExcludedMember[],
  served: number | undefined,
  self: Self,
): ConditionState {
  const type = 'BackendsDiscovered';
  if (excluded.length === 0) {
    const message = NOT_LEFT_OUT.get(served) ?? 'every member of the group is valid';
    return trueCondition(type, 'BackendsDiscoveredSuccessfully', message);
  }
  const problems = excluded.flatMap((member) => member.problems.map((problem) => namingBackend(problem, member)));
  const isConflict = problems.some(({ reason }) => reason === 'BackendNameConflict');
  return failedCondition(
    type,
    isConflict ? 'BackendNameConflict' : 'BackendDiscoveryFailed',
    problemsMessage(problems, self),
  );
}

/** Builds `CredentialsWithheld`, present while a credential is withheld from a member. */
function withheldConditions(excluded: readonly ExcludedMember[], self: Self): ConditionState[] {
  const withheld = excluded.flatMap(({ problems }) => problems.filter(({ reason }) => reason === CREDENTIAL_WITHHELD));
  if (withheld.length === 0) return [];
  return [warningCondition('CredentialsWithheld', CREDENTIAL_WITHHELD, problemsMessage(withheld, self))];
}

/** Names the excluded backend in the message of a problem that is located in another object. */
function namingBackend(problem: ObjectProblem, { kind, name }: ExcludedMember): ObjectProblem {
  const isItsOwn = problem.kind === kind && problem.name === name;
  if (isItsOwn || problem.reason === CONSEQUENCE_REASON) return problem;
  return { ...problem, message: `${problem.message} (backend "${name}" is excluded)` };
}

function podConditions({ spec: { podTemplateSpec: patch } }: VirtualMCPServer, facts: Facts): ConditionState[] {
  if (!patch) return [];
  const { snapshot, self, observed, resolution } = facts;
  const condition = podTemplateCondition({
    type: 'PodTemplateSpecValid',
    good: 'PodTemplateSpecValid',
    patch,
    object: { ...self, namespace: snapshot.namespace },
    problems: observed.problems,
    isRendered: resolution?.config !== undefined,
  });
  return [condition];
}

/** Reason of tools that model APIs reject. They are served, and other clients can use them: it is advice. */
const TOOLS_NOT_PORTABLE = 'ToolsNotPortable';

/** Builds `RuntimeProblems`, present while gateways report problems, and `ToolsPortable`, present while they give advice on tools. */
function runtimeConditions(runtime: readonly ObjectProblem[], self: Self): ConditionState[] {
  const problems = runtime.filter(({ reason }) => reason !== TOOLS_NOT_PORTABLE);
  const advice = runtime.filter(({ reason }) => reason === TOOLS_NOT_PORTABLE);
  const [first] = problems;
  return [
    ...(first ? [warningCondition('RuntimeProblems', first.reason, problemsMessage(problems, self))] : []),
    ...(advice.length > 0 ? [falseCondition('ToolsPortable', TOOLS_NOT_PORTABLE, problemsMessage(advice, self))] : []),
  ];
}

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
function routeConditions(route: Route | undefined, live: KubeObject | undefined, isServed: boolean): ConditionState[] {
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
