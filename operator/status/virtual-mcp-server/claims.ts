import type { ObjectProblem } from '../../resolve/problems.ts';
import { CONSEQUENCE_REASON } from '../../resolve/problems.ts';
import { CREDENTIAL_WITHHELD } from '../../resolve/backends/release.ts';
import type { Snapshot, VirtualMCPServer } from '../../resolve/snapshot.ts';
import type { ExcludedMember, Resolution } from '../../resolve/vmcp.ts';
import { appliedClaims, podTemplateClaim } from '../applied.ts';
import { adviceClaims, fails, holds, pends, verdict, warns, type Claim } from '../claim.ts';
import { problemsMessage, type Self } from '../message.ts';
import { outgoingAuthClaims } from './outgoing-auth.ts';
import { isAdvice, rowsOf, WARNING_TABLE, type WarningRow } from './problem-table.ts';
import { sessionStorageClaim } from '../session-storage.ts';
import type { ObservedWorkload } from '../workload.ts';

interface Facts {
  readonly snapshot: Snapshot;
  readonly refused?: readonly ObjectProblem[];
  readonly resolution?: Resolution;
  readonly observed: ObservedWorkload;
  readonly vmcp: VirtualMCPServer | undefined;
  readonly runtime: readonly ObjectProblem[];
  readonly self: Self;
}

/** What is said about each part of the spec and of what came of it. */
export function fieldClaims(facts: Facts): Claim[] {
  const { snapshot, refused = [], resolution, observed, vmcp, runtime, self } = facts;
  const problems = resolution?.problems ?? [];
  const rest = problems.filter((problem) => rowsOf(problem).length === 0);
  const good = { reason: 'ValidationSucceeded', message: 'the spec is right' };
  return [
    verdict('Valid', good, [...refused, ...rest], () => 'ValidationFailed', self),
    ...appliedClaims(
      {
        problems: observed.problems,
        isThere: observed.workload !== undefined,
        isCurrent: resolution?.config !== undefined,
      },
      self,
    ),
    ...runtimeClaims(runtime, self),
    ...(vmcp && resolution
      ? [
          ...tableClaims(vmcp, problems, self),
          ...warningClaims(vmcp, resolution, self),
          ...outgoingAuthClaims(vmcp, snapshot, resolution, runtime, self),
          ...withheldClaims(resolution.excluded, self),
          discoveryClaim(resolution.excluded, resolution.config?.vmcp.backends.length, self),
          sessionStorageClaim(vmcp.spec),
          ...podClaims(vmcp, facts),
          ...adviceClaims(resolution.warnings.filter(isAdvice), self),
        ]
      : []),
  ];
}

/** Conditions that the table of problems makes false, of those parts that the spec has. */
function tableClaims(vmcp: VirtualMCPServer, problems: readonly ObjectProblem[], self: Self): Claim[] {
  const { groupRef, incomingAuth, authServerConfig } = vmcp.spec;
  const claim = (type: string, reason: string, message: string): Claim => {
    const about = problems.filter((problem) => rowsOf(problem).some((row) => row.type === type));
    const reasonOf = (problem: ObjectProblem): string =>
      rowsOf(problem).find((row) => row.type === type)?.reason ?? reason;
    return verdict(type, { reason, message }, about, reasonOf, self);
  };
  const { oidcConfigRef } = incomingAuth;
  return [
    claim('GroupRefValidated', 'GroupRefValid', `MCPGroup "${groupRef.name}" is there`),
    claim('AuthConfigured', 'AuthValid', 'every Secret and ConfigMap that is named has its key'),
    ...(oidcConfigRef
      ? [claim('OIDCConfigRefValidated', 'OIDCConfigRefValid', `MCPOIDCConfig "${oidcConfigRef.name}" is used`)]
      : []),
    ...(authServerConfig
      ? [claim('AuthServerConfigValidated', 'AuthServerConfigValid', 'the authorization server fits this server')]
      : []),
  ];
}

function warningClaims({ spec }: VirtualMCPServer, { warnings }: Resolution, self: Self): Claim[] {
  const isThere = ({ about }: WarningRow): boolean =>
    about === 'authServer' ? spec.authServerConfig !== undefined : spec.incomingAuth.type === 'oidc';
  return WARNING_TABLE.filter(isThere).map(({ type, warning, reason, good }) => {
    const found = warnings.filter((each) => each.reason === warning);
    if (found.length === 0) return pends(type, good.reason, good.message);
    return warns(type, reason, problemsMessage(found, self));
  });
}

/** Which members are served. One that is not harms no other. */
function discoveryClaim(excluded: readonly ExcludedMember[], served: number | undefined, self: Self): Claim {
  const type = 'BackendsDiscovered';
  if (excluded.length === 0) {
    const message = served === 0 ? 'the group has no members' : 'nothing is wrong with the members of the group';
    return holds(type, 'BackendsDiscoveredSuccessfully', message);
  }
  const problems = excluded.flatMap((member) => member.problems.map((problem) => leftOut(problem, member)));
  const isConflict = problems.some(({ reason }) => reason === 'BackendNameConflict');
  return fails(type, isConflict ? 'BackendNameConflict' : 'BackendDiscoveryFailed', problemsMessage(problems, self));
}

/** Present while a credential is not sent to a member. */
function withheldClaims(excluded: readonly ExcludedMember[], self: Self): Claim[] {
  const withheld = excluded.flatMap(({ problems }) => problems.filter(({ reason }) => reason === CREDENTIAL_WITHHELD));
  if (withheld.length === 0) return [];
  return [warns('CredentialsWithheld', CREDENTIAL_WITHHELD, problemsMessage(withheld, self))];
}

/** A mistake that stands in another object says which backend it takes away. */
function leftOut(problem: ObjectProblem, { kind, name }: ExcludedMember): ObjectProblem {
  const isItsOwn = problem.kind === kind && problem.name === name;
  if (isItsOwn || problem.reason === CONSEQUENCE_REASON) return problem;
  return { ...problem, message: `${problem.message} (backend "${name}" is left out)` };
}

function podClaims({ spec: { podTemplateSpec: patch } }: VirtualMCPServer, facts: Facts): Claim[] {
  if (!patch) return [];
  const { snapshot, self, observed, resolution } = facts;
  const claim = podTemplateClaim({
    type: 'PodTemplateSpecValid',
    good: 'PodTemplateSpecValid',
    patch,
    object: { ...self, namespace: snapshot.namespace },
    problems: observed.problems,
    isRendered: resolution?.config !== undefined,
  });
  return [claim];
}

/** Present while gateways report something that only they can find out. */
function runtimeClaims(runtime: readonly ObjectProblem[], self: Self): Claim[] {
  const [first] = runtime;
  return first ? [warns('RuntimeProblems', first.reason, problemsMessage(runtime, self))] : [];
}
