import { checkMCPExternalAuthConfig } from '../resolve/objects.ts';
import { CONSEQUENCE_REASON, type ObjectProblem } from '../resolve/problems.ts';
import type { Snapshot } from '../resolve/snapshot.ts';
import { warns, verdict, type Claim } from './claim.ts';
import { CLUSTER_PLATFORM } from '../render/options.ts';
import { cut, type Self } from './message.ts';

/** Who keeps a shared object from going away. */
export interface Deletion {
  /** `Kind/name` of every object that refers to it. */
  readonly referencedBy: readonly string[];
  readonly deleting: boolean;
}

/** Present only while a deletion waits. */
export function deletionClaims({ referencedBy, deleting }: Deletion): Claim[] {
  if (!deleting || referencedBy.length === 0) return [];
  const names = [...new Set(referencedBy)].toSorted().join(', ');
  const message = cut(`still referred to by ${names}: remove the references, and the deletion goes on by itself`);
  return [warns('DeletionBlocked', 'ReferencedByWorkloads', message)];
}

/** Whether the members' group is there. */
export function groupClaim(group: string, problems: readonly ObjectProblem[], good: string, self: Self): Claim {
  const about = problems.filter(isAboutGroup);
  const message = `MCPGroup "${group}" is there`;
  return verdict('GroupRefValidated', { reason: good, message }, about, groupReason, self);
}

export const isAboutGroup = ({ path }: ObjectProblem): boolean => /^spec\.groupRef\b/u.test(path);

const groupReason = ({ reason }: ObjectProblem): string =>
  reason === CONSEQUENCE_REASON ? 'GroupRefNotReady' : 'GroupRefNotFound';

/** Whether a problem is about the reference to an MCPExternalAuthConfig. */
export const isAboutAuthRef = ({ path }: ObjectProblem): boolean => /^spec\.externalAuthConfigRef\b/u.test(path);

/** What is wrong with an MCPExternalAuthConfig itself, as everybody who uses it is told. */
export function authConfigProblems(name: string | undefined, snapshot: Snapshot): readonly ObjectProblem[] {
  const config = name === undefined ? undefined : snapshot.externalAuthConfigs.get(name);
  return config ? checkMCPExternalAuthConfig(config, snapshot, CLUSTER_PLATFORM).problems : [];
}
