import { checkMCPExternalAuthConfig, checkMCPToolConfig } from '../resolve/objects.ts';
import { CONSEQUENCE_REASON, type ObjectProblem } from '../resolve/scope.ts';
import type { Snapshot } from '../resolve/snapshot.ts';
import { warningCondition, validityCondition, type ConditionState, cutMessage, type Self } from './conditions.ts';
import { CLUSTER_PLATFORM } from '../render/options.ts';

/** Deletion state of a shared object. */
export interface Deletion {
  /** `Kind/name` of every object that refers to it. */
  readonly referencedBy: readonly string[];
  readonly deleting: boolean;
}

/** Builds `DeletionBlocked`, present only while references block a deletion. */
export function deletionConditions({ referencedBy, deleting }: Deletion): ConditionState[] {
  if (!deleting || referencedBy.length === 0) return [];
  const names = [...new Set(referencedBy)].toSorted().join(', ');
  const message = cutMessage(`still referenced by ${names}: remove the references, and the deletion completes`);
  return [warningCondition('DeletionBlocked', 'ReferencedByWorkloads', message)];
}

/** Builds the condition for the reference to a group. */
export function groupCondition(
  group: string,
  problems: readonly ObjectProblem[],
  good: string,
  self: Self,
): ConditionState {
  const about = problems.filter(isAboutGroup);
  const message = `MCPGroup "${group}" exists`;
  return validityCondition('GroupRefValidated', { reason: good, message }, about, groupReason, self);
}

export const isAboutGroup = ({ path }: ObjectProblem): boolean => /^spec\.groupRef\b/u.test(path);

const groupReason = ({ reason }: ObjectProblem): string =>
  reason === CONSEQUENCE_REASON ? 'GroupRefNotReady' : 'GroupRefNotFound';

/** Returns true for problems of the reference to an MCPExternalAuthConfig. */
export const isAboutAuthRef = ({ path }: ObjectProblem): boolean => /^spec\.externalAuthConfigRef\b/u.test(path);

/** Lists the problems of an MCPExternalAuthConfig itself, which every user of the config reports. */
export function authConfigProblems(name: string | undefined, snapshot: Snapshot): readonly ObjectProblem[] {
  const config = name === undefined ? undefined : snapshot.externalAuthConfigs.get(name);
  return config ? checkMCPExternalAuthConfig(config, snapshot, CLUSTER_PLATFORM).problems : [];
}

/** Returns true for problems of the reference of an MCPServer to an MCPToolConfig. */
export const isAboutToolRef = ({ path }: ObjectProblem): boolean => /^spec\.toolConfigRef\b/u.test(path);

/** Builds the condition for the reference of an MCPServer to an MCPToolConfig. */
export function toolConfigCondition(
  name: string,
  problems: readonly ObjectProblem[],
  snapshot: Snapshot,
  self: Self,
): ConditionState {
  const config = snapshot.toolConfigs.get(name);
  const ofConfig = config ? checkMCPToolConfig(config, snapshot, CLUSTER_PLATFORM).problems : [];
  const about = [...problems.filter(isAboutToolRef), ...ofConfig];
  const good = { reason: 'ToolConfigRefValid', message: `MCPToolConfig "${name}" is used` };
  const reasonOf = ({ reason }: ObjectProblem): string =>
    reason === 'ToolConfigRefNotFound' ? reason : 'ToolConfigRefNotValid';
  return validityCondition('ToolConfigRefValidated', good, about, reasonOf, self);
}
