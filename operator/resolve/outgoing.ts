import type { Backend } from '../../gateway/contract/gateway-config.ts';
import { childPath } from './field-path.ts';
import { unbuiltStrategy } from './not-supported.ts';
import { checkReferences } from './references.ts';
import { unknownBackend } from './aggregation.ts';
import type { Identified, Scope } from './scope.ts';
import type { MCPServer, MCPServerEntry } from './snapshot.ts';

const PATH = 'spec.outgoingAuth';

/** An MCPExternalAuthConfig by name, and the field that named it. */
interface ConfigChoice {
  readonly name: string;
  readonly owner: Identified;
  readonly path: string;
}

/** Checks how the credential for one backend is obtained; only `unauthenticated` can be rendered so far. */
export function resolveOutgoing(
  backend: MCPServer | MCPServerEntry,
  transport: Backend['transport'],
  scope: Scope,
): void {
  const choice = chooseConfig(backend, scope);
  if (!choice) return;
  const config = scope.snapshot.externalAuthConfigs.get(choice.name);
  if (!config) return; // reported where the reference stands
  const { type } = config.spec;
  checkReferences(config, scope.snapshot, scope.on(config));
  if (type === 'unauthenticated') return;
  if (transport === 'stdio') {
    const message = `a stdio server has no requests to put a credential on, and "${choice.name}" is of type ${type}: remove the reference`;
    scope.on(choice.owner).problem('OutgoingAuthOnStdio', choice.path, message);
  }
  const unbuilt = unbuiltStrategy(type);
  if (unbuilt) scope.on(config).problem(unbuilt.reason, unbuilt.path, unbuilt.message);
}

function chooseConfig(backend: MCPServer | MCPServerEntry, scope: Scope): ConfigChoice | undefined {
  const { vmcp } = scope;
  const outgoing = vmcp.spec.outgoingAuth;
  const backendsOwn = backend.spec.externalAuthConfigRef?.name;
  const own =
    backendsOwn === undefined ? undefined : { name: backendsOwn, owner: backend, path: 'spec.externalAuthConfigRef' };
  const inline = outgoing?.source === 'inline';
  const entry = inline ? outgoing.backends?.[backend.metadata.name] : undefined;
  if (entry?.type === 'externalAuthConfigRef') {
    const path = `${childPath(`${PATH}.backends`, backend.metadata.name)}.externalAuthConfigRef`;
    return entry.externalAuthConfigRef && { name: entry.externalAuthConfigRef.name, owner: vmcp, path };
  }
  if (entry?.type === 'discovered' || !inline) {
    if (own) return own;
    if (entry) return undefined;
  }
  const fallback = outgoing?.default;
  if (fallback?.type === 'discovered') return own;
  return (
    fallback?.externalAuthConfigRef && {
      name: fallback.externalAuthConfigRef.name,
      owner: vmcp,
      path: `${PATH}.default.externalAuthConfigRef`,
    }
  );
}

/** Checks `outgoingAuth` as such. `backends` are the names of the group's members. */
export function checkOutgoing(scope: Scope, backends: readonly string[]): void {
  const report = scope.on(scope.vmcp);
  const outgoing = scope.vmcp.spec.outgoingAuth;
  for (const [name, entry] of Object.entries(outgoing?.backends ?? {})) {
    const path = childPath(`${PATH}.backends`, name);
    if (!backends.includes(name)) {
      report.warning('UnknownBackend', path, unknownBackend(name, backends));
    } else if (outgoing?.source !== 'inline' && entry.type === 'externalAuthConfigRef') {
      const message = `source discovered takes what backend "${name}" itself refers to: set ${PATH}.source: inline, or remove this entry`;
      report.problem('OutgoingAuthIgnored', path, message);
    }
  }
}
