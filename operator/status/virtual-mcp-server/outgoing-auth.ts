import { childPath } from '../../resolve/fields/field-path.ts';
import { chooseConfig } from '../../resolve/backends/outgoing.ts';
import { backendEntries } from '../../resolve/backends/outgoing-entries.ts';
import { CONSEQUENCE_REASON, type ObjectProblem, reportInto } from '../../resolve/scope.ts';
import { checkReferences } from '../../resolve/references.ts';
import { CREDENTIAL_WITHHELD } from '../../resolve/backends/release.ts';
import { members, type Snapshot, type VirtualMCPServer } from '../../resolve/snapshot.ts';
import type { Resolution } from '../../resolve/vmcp.ts';
import { CLUSTER_PLATFORM } from '../../render/options.ts';
import { validityCondition, type ConditionState, type Self } from '../conditions.ts';
import { digest } from '../same-status.ts';
import { INVALID, REFUSED } from '../config-status.ts';
import { authConfigProblems, isAboutAuthRef } from '../references.ts';

const PATH = 'spec.outgoingAuth';
/** Longest name of a backend. The type of a condition has a limited length. */
const LONGEST_NAME = 253;

/** Problems of a backend's credential, with the condition type that reports them. */
interface Conversion {
  readonly type: string;
  readonly config: string;
  readonly problems: readonly ObjectProblem[];
}

/** Builds one condition per reference to an MCPExternalAuthConfig: on a backend, in an entry, in the default. */
export function outgoingAuthConditions(
  vmcp: VirtualMCPServer,
  snapshot: Snapshot,
  resolution: Resolution,
  runtime: readonly ObjectProblem[],
  self: Self,
): ConditionState[] {
  const byType = new Map<string, Conversion>();
  const add = ({ type, config, problems }: Conversion): void => {
    byType.set(type, { type, config, problems: [...(byType.get(type)?.problems ?? []), ...problems] });
  };
  for (const conversion of ofFields(vmcp, snapshot)) add(conversion);
  for (const backend of members(snapshot, vmcp.spec.groupRef.name)) {
    const choice = chooseConfig(backend, vmcp);
    if (!choice) continue;
    const { name } = backend.metadata;
    const found = problemsOf(name, resolution, runtime);
    add({ type: typeOf(choice.path, name), config: choice.name, problems: found });
  }
  return [...byType.values()].map(({ type, config, problems }) => {
    const good = { reason: 'ConversionSucceeded', message: `MCPExternalAuthConfig "${config}" is used` };
    return validityCondition(type, good, problems, (problem) => reasonOf(problem, snapshot), self);
  });
}

/** Lists the references in the VirtualMCPServer's own fields, used by a backend or not. */
function ofFields(vmcp: VirtualMCPServer, snapshot: Snapshot): Conversion[] {
  const fallback = vmcp.spec.outgoingAuth?.default;
  const named = backendEntries(vmcp).filter(({ name }) => name.length <= LONGEST_NAME);
  const places = [
    ...named.map((entry) => [entry.path, entry.name, entry] as const),
    ...(fallback ? [[`${PATH}.default`, '', fallback] as const] : []),
  ];
  return places.flatMap(([place, backend, { externalAuthConfigRef: ref }]) => {
    if (!ref) return [];
    const path = `${place}.externalAuthConfigRef`;
    const problems: ObjectProblem[] = [...authConfigProblems(ref.name, snapshot)];
    const report = reportInto(
      { kind: vmcp.kind, namespace: snapshot.namespace, name: vmcp.metadata.name },
      problems,
      [],
    );
    checkReferences(vmcp, { snapshot, platform: CLUSTER_PLATFORM }, report, (here) => here === path);
    return [{ type: typeOf(path, backend), config: ref.name, problems }];
  });
}

function typeOf(path: string, backend: string): string {
  if (path.startsWith(`${PATH}.default`)) return 'DefaultAuthConfig';
  return path.startsWith(PATH) ? `BackendAuthConfig-${backend}` : `DiscoveredAuthConfig-${backend}`;
}

function problemsOf(
  backend: string,
  { excluded }: Resolution,
  runtime: readonly ObjectProblem[],
): readonly ObjectProblem[] {
  const found = excluded.filter(({ name }) => name === backend).flatMap(({ problems }) => problems);
  return [
    ...found.filter(isAboutCredential),
    ...runtime.filter(({ path }) => path === childPath('vmcp.outgoing_auth', backend)),
  ];
}

const isAboutCredential = (problem: ObjectProblem): boolean =>
  problem.kind === 'MCPExternalAuthConfig' || problem.path.startsWith(`${PATH}.`) || isAboutAuthRef(problem);

/** Returns the reason for a problem. Problems of the config itself have the reason of its own status. */
function reasonOf({ kind, name, reason }: ObjectProblem, snapshot: Snapshot): string {
  if (reason === CONSEQUENCE_REASON) return REFUSED;
  if (reason === CREDENTIAL_WITHHELD) return reason;
  const isItsOwn = kind === 'MCPExternalAuthConfig' && authConfigProblems(name, snapshot).length > 0;
  return isItsOwn ? INVALID : 'ConversionFailed';
}

/** Returns the digests of the configs in use, by served backend. */
export function externalAuthHashes(
  vmcp: VirtualMCPServer,
  snapshot: Snapshot,
  served: readonly string[],
): Record<string, string> | undefined {
  const hashes = members(snapshot, vmcp.spec.groupRef.name).flatMap((backend) => {
    const choice = served.includes(backend.metadata.name) ? chooseConfig(backend, vmcp) : undefined;
    const config = choice && snapshot.externalAuthConfigs.get(choice.name);
    return config ? [[backend.metadata.name, digest(config.spec)] as const] : [];
  });
  return hashes.length > 0 ? Object.fromEntries(hashes) : undefined;
}
