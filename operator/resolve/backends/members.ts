import type { Backend, OutgoingEntry } from '../../../gateway/contract/gateway-config.ts';
import type { ToolRules } from '../../../gateway/contract/aggregation/aggregation.ts';
import { reportClusterFields, checkUnbuilt, reportControls } from '../fields/controls.ts';
import { checkEntryActs, resolveOutgoing } from './outgoing.ts';
import { CONSEQUENCE_REASON, newScope, type Scope } from '../scope.ts';
import { checkReferences } from '../references.ts';
import { checkHeaderSecrets } from './release.ts';
import { resolveEntry } from './remote-backend.ts';
import { sharedTools } from '../aggregation.ts';
import { resolveServer } from './server-backend.ts';
import { members, type BrokenObject, type MCPServer, type MCPServerEntry } from '../snapshot.ts';

type Member = MCPServer | MCPServerEntry;

/** Member of the group, checked on its own, so that an invalid one does not affect the others. */
export interface CheckedMember {
  readonly kind: string;
  readonly name: string;
  /** Problems, warnings and mounts of this member alone. */
  readonly scope: Scope;
  readonly backend?: Backend;
  readonly credential?: OutgoingEntry;
  /** Rules for its tools in every virtual server. */
  readonly tools?: ToolRules;
}

/** Resolves the members of the VirtualMCPServer's group: rejected ones first, then by name. */
export function checkMembers(scope: Scope): CheckedMember[] {
  const group = scope.vmcp.spec.groupRef.name;
  const found = members(scope.snapshot, group);
  const broken = brokenMembers(scope);
  if (found.length + broken.length === 0 && scope.snapshot.groups.has(group)) {
    const message = `MCPGroup "${group}" has no members: set spec.groupRef.name: ${group} on an MCPServer or MCPServerEntry`;
    scope.on(scope.vmcp).warning('GroupEmpty', 'spec.groupRef.name', message);
  }
  return [
    ...broken.map((object) => checkBroken(object, scope)),
    ...found.map((object) => checkMember(object, found, scope)),
  ];
}

/** Lists the rejected objects that name the group. */
export const brokenMembers = ({ vmcp, snapshot }: Pick<Scope, 'vmcp' | 'snapshot'>): BrokenObject[] =>
  [...snapshot.broken.values()].filter(({ group }) => group === vmcp.spec.groupRef.name);

const ownScope = ({ vmcp, snapshot, platform }: Scope): Scope => newScope(vmcp, snapshot, platform);

function checkBroken({ kind, name }: BrokenObject, outer: Scope): CheckedMember {
  const scope = ownScope(outer);
  const { name: group } = scope.vmcp.spec.groupRef;
  const message = `${kind} "${name}" belongs to group "${group}" and is invalid: correct its own problems first`;
  scope.on({ kind, metadata: { name } }).problem(CONSEQUENCE_REASON, 'spec', message);
  checkEntryActs(name, scope);
  return { kind, name, scope };
}

function checkMember(object: Member, found: readonly Member[], outer: Scope): CheckedMember {
  const scope = ownScope(outer);
  const report = scope.on(object);
  const { kind } = object;
  const { name } = object.metadata;
  const resolved = hasOwnName(object, found, scope) ? resolveMember(object, scope) : {};
  checkUnbuilt(object, report);
  if (scope.platform.mode === 'local') reportClusterFields(object, report);
  if (scope.platform.mode === 'local' && object.kind === 'MCPServer') reportControls(object, report);
  return { kind, name, scope, ...resolved };
}

/** Returns true when no other member has the name. Local mode keeps the first one; a cluster rejects all of them. */
function hasOwnName(object: Member, found: readonly Member[], scope: Scope): boolean {
  const { name } = object.metadata;
  const rivals = scope.platform.mode === 'local' ? found.slice(0, found.indexOf(object)) : found;
  const other = rivals.find((rival) => rival !== object && rival.metadata.name === name);
  if (!other) return true;
  const message = `${other.kind} "${name}" is in group "${scope.vmcp.spec.groupRef.name}" too, and a backend is identified by its name alone: rename one`;
  scope.on(object).problem('BackendNameConflict', 'metadata.name', message);
  return false;
}

function resolveMember(object: Member, scope: Scope): Pick<CheckedMember, 'backend' | 'credential' | 'tools'> {
  checkReferences(object, scope, scope.on(object));
  const backend = object.kind === 'MCPServer' ? resolveServer(object, scope) : resolveEntry(object, scope);
  if (object.kind === 'MCPServerEntry') checkHeaderSecrets(object, scope);
  const credential = resolveOutgoing(object, scope);
  const tools = object.kind === 'MCPServer' ? sharedTools(object.spec.toolConfigRef, scope) : undefined;
  return { backend, ...(credential && { credential }), ...(tools && { tools }) };
}
