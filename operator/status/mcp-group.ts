import { compareText, members, type Snapshot } from '../resolve/snapshot.ts';
import { failedCondition, trueCondition, type ConditionState } from './condition-state.ts';
import { buildStatus, type ObjectStatus } from './conditions.ts';
import { problemsMessage } from './message.ts';
import { deletionConditions } from './references.ts';
import type { SharedObjectInput } from './input.ts';

/** Builds the status of a group. An empty group is ready; members that were rejected still count. */
export function mcpGroupStatus({ object, snapshot, refused = [], deletion, now }: SharedObjectInput): ObjectStatus {
  const self = { kind: object.kind, name: object.metadata.name };
  const servers = namesOf('MCPServer', self.name, snapshot);
  const entries = namesOf('MCPServerEntry', self.name, snapshot);
  const states: ConditionState[] = [
    trueCondition('MCPServersChecked', 'ListMCPServersCheckSucceeded', 'the members of the group are listed'),
    ...(refused.length > 0 ? [failedCondition('Valid', 'ValidationFailed', problemsMessage(refused, self))] : []),
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
