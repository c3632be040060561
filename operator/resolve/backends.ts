import type { Backend, OutgoingEntry } from '../../gateway/contract/gateway-config.ts';
import { resolveOutgoing } from './outgoing.ts';
import { CONSEQUENCE_REASON } from './problems.ts';
import { checkReferences } from './references.ts';
import { resolveEntry } from './remote-backend.ts';
import type { Scope } from './scope.ts';
import { resolveServer } from './server-backend.ts';
import { members, type MCPServer, type MCPServerEntry } from './snapshot.ts';

export interface ResolvedBackends {
  /** Sorted by name. */
  readonly backends: Backend[];
  /** By name of the backend; absent where no backend gets a credential. */
  readonly outgoingAuth?: Record<string, OutgoingEntry>;
}

/** The members of the VirtualMCPServer's group as the gateway meets them. */
export function resolveBackends(scope: Scope): ResolvedBackends {
  const group = scope.vmcp.spec.groupRef.name;
  const found = members(scope.snapshot, group);
  const broken = [...scope.snapshot.broken.values()].filter((object) => object.group === group);
  for (const { kind, name } of broken) {
    const message = `${kind} "${name}" belongs to group "${group}" and has problems of its own: correct them first`;
    scope.on({ kind, metadata: { name } }).problem(CONSEQUENCE_REASON, 'spec', message);
  }
  if (found.length + broken.length === 0 && scope.snapshot.groups.has(group)) {
    const message = `MCPGroup "${group}" has no members: set spec.groupRef.name: ${group} on an MCPServer or MCPServerEntry`;
    scope.on(scope.vmcp).warning('GroupEmpty', 'spec.groupRef.name', message);
  }
  const resolved = found
    .filter((object, index) => isFirstOfName(object, found[index - 1], scope))
    .map((object) => resolveBackend(object, scope));
  const credentials = resolved.flatMap(({ backend, credential }) =>
    credential ? [[backend.name, credential] as const] : [],
  );
  return {
    backends: resolved.map(({ backend }) => backend),
    ...(credentials.length > 0 && { outgoingAuth: Object.fromEntries(credentials) }),
  };
}

function isFirstOfName(
  object: MCPServer | MCPServerEntry,
  previous: MCPServer | MCPServerEntry | undefined,
  scope: Scope,
): boolean {
  const { name } = object.metadata;
  if (previous?.metadata.name === name) {
    const message = `${previous.kind} "${name}" is in group "${scope.vmcp.spec.groupRef.name}" too and a backend is known by its name alone: rename one`;
    scope.on(object).problem('BackendNameConflict', 'metadata.name', message);
    return false;
  }
  return true;
}

function resolveBackend(
  object: MCPServer | MCPServerEntry,
  scope: Scope,
): { readonly backend: Backend; readonly credential: OutgoingEntry | undefined } {
  checkReferences(object, scope.snapshot, scope.on(object));
  const backend = object.kind === 'MCPServer' ? resolveServer(object, scope) : resolveEntry(object, scope);
  return { backend, credential: resolveOutgoing(object, backend.transport, scope) };
}
