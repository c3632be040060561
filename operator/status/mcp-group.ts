import { compareText, members, type Snapshot } from '../resolve/snapshot.ts';
import { fails, holds, type Claim } from './claim.ts';
import { concludeStatus, type ObjectStatus } from './conditions.ts';
import { problemsMessage } from './message.ts';
import { deletionClaims } from './references.ts';
import type { SharedObjectInput } from './input.ts';

/** An empty group is ready. Members that were refused belong to it all the same. */
export function mcpGroupStatus({ object, snapshot, refused = [], deletion, now }: SharedObjectInput): ObjectStatus {
  const self = { kind: object.kind, name: object.metadata.name };
  const servers = namesOf('MCPServer', self.name, snapshot);
  const entries = namesOf('MCPServerEntry', self.name, snapshot);
  const claims: Claim[] = [
    holds('MCPServersChecked', 'ListMCPServersCheckSucceeded', 'the members are listed'),
    ...(refused.length > 0 ? [fails('Valid', 'ValidationFailed', problemsMessage(refused, self))] : []),
    ...deletionClaims(deletion),
  ];
  return concludeStatus(object, claims, now, {
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
