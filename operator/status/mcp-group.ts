import { compareText, members, type Snapshot } from '../resolve/snapshot.ts';
import { trueCondition, validityCondition, type ConditionState, buildStatus, type ObjectStatus } from './conditions.ts';
import { readinessWithoutPods } from './progress.ts';
import { deletionConditions } from './references.ts';
import type { SharedObjectInput } from './input.ts';

const GOOD = { reason: 'ConfigValid', message: 'the group can be used' };

/** Builds the status of a group. An empty group is ready; members that were rejected still count. */
export function mcpGroupStatus({ object, snapshot, refused = [], deletion, now }: SharedObjectInput): ObjectStatus {
  const self = { kind: object.kind, name: object.metadata.name };
  const servers = namesOf('MCPServer', self.name, snapshot);
  const entries = namesOf('MCPServerEntry', self.name, snapshot);
  const valid = validityCondition('Valid', GOOD, refused, () => 'ValidationFailed', self);
  const states: ConditionState[] = [
    ...readinessWithoutPods(valid, refused, self),
    trueCondition('MCPServersChecked', 'ListMCPServersCheckSucceeded', 'the members of the group are listed'),
    ...(refused.length > 0 ? [valid] : []),
    ...deletionConditions(deletion),
  ];
  return buildStatus(object, states, now, {
    ready: refused.length === 0,
    phase: refused.length === 0 ? 'Ready' : 'Failed',
    servers,
    serverCount: servers.length,
    entries,
    entryCount: entries.length,
  });
}

function namesOf(kind: string, group: string, snapshot: Snapshot): string[] {
  const found = members(snapshot, group).filter((member) => member.kind === kind);
  const broken = [...snapshot.broken.values()].filter((object) => object.kind === kind && object.group === group);
  const names = [...found.map(({ metadata }) => metadata.name), ...broken.map(({ name }) => name)];
  return [...new Set(names)].toSorted(compareText);
}
