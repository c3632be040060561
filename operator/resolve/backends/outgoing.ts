import { backendEntries, backendEntry } from './outgoing-entries.ts';
import { AUTH_SERVER } from '../../../crds/kinds/mcp-external-auth-config.ts';
import { hasUsers } from '../../../gateway/incoming/index.ts';
import type { Backend, OutgoingEntry } from '../../../gateway/contract/gateway-config.ts';
import type { VariantScope } from '../../../gateway/contract/variant.ts';
import { resolveStrategy, STRATEGIES } from '../../../gateway/outgoing/index.ts';
import { circularExchange, isOwnAddress, upstreamNames } from '../auth-server/spec.ts';
import { unbuiltStrategy, authenticatesClients } from '../fields/controls.ts';
import { checkReferences } from '../references.ts';
import { checkRelease } from './release.ts';
import { exposedTransport } from './server-backend.ts';
import { unknownBackend } from '../aggregation.ts';
import type { Identified, ObjectScope, Scope } from '../scope.ts';
import type { MCPExternalAuthConfig, MCPServer, MCPServerEntry, VirtualMCPServer } from '../snapshot.ts';
import { checkUserUrl } from '../addresses.ts';

const PATH = 'spec.outgoingAuth';

/** Name of an MCPExternalAuthConfig, and the field that contains it. */
export interface ConfigChoice {
  readonly name: string;
  readonly owner: Identified;
  readonly path: string;
}

/**
 * Resolves the credential for one backend; undefined when none is configured. A problem excludes the backend, so that
 * it is never called without its credential.
 */
export function resolveOutgoing(backend: MCPServer | MCPServerEntry, scope: Scope): OutgoingEntry | undefined {
  checkEntryActs(backend.metadata.name, scope);
  const choice = chooseConfig(backend, scope.vmcp);
  if (!choice) return undefined;
  if (choice.owner === scope.vmcp) {
    checkReferences(scope.vmcp, scope, scope.on(scope.vmcp), (path) => path === choice.path);
  }
  const config = scope.snapshot.externalAuthConfigs.get(choice.name);
  if (!config) return undefined; // reported with the reference
  checkReferences(config, scope, scope.on(config));
  if (!isCredential(config, choice, scope)) return undefined;
  const unbuilt = unbuiltStrategy(config.spec.type);
  if (unbuilt) {
    scope.on(config).problem(unbuilt.reason, unbuilt.path, unbuilt.message);
    return undefined;
  }
  checkUse(choice, config, transportOf(backend, choice, scope), scope);
  checkRelease(choice, config, backend, scope);
  return resolveStrategy(config.spec, strategyScope(config, scope));
}

/** Returns true for a config that gives a credential. Reports an authorization server in its place. */
export function isCredential(
  { metadata: { name }, spec }: MCPExternalAuthConfig,
  { owner, path }: Omit<ConfigChoice, 'name'>,
  scope: ObjectScope,
): boolean {
  if (spec.type !== AUTH_SERVER) return true;
  const message = `MCPExternalAuthConfig "${name}" is an authorization server, which gives no credential: refer to it in authServerRef of an MCPServer, or to another config here`;
  scope.on(owner).problem('InvalidType', path, message);
  return false;
}

/** Reports an entry that has no effect: its backend would get another credential than the intended one. */
export function checkEntryActs(name: string, scope: Scope): void {
  const entry = backendEntry(name, scope.vmcp);
  if (scope.vmcp.spec.outgoingAuth?.source === 'inline' || entry?.type !== 'externalAuthConfigRef') return;
  const message = `with source discovered, the own reference of backend "${name}" applies instead of this entry: set ${PATH}.source: inline, or remove this entry`;
  scope.on(scope.vmcp).problem('OutgoingAuthIgnored', entry.path, message);
}

/** Checks an MCPExternalAuthConfig independently of the servers that use it. */
export function checkStrategy(config: MCPExternalAuthConfig, scope: ObjectScope): void {
  const report = scope.on(config);
  checkReferences(config, scope, report);
  if (config.spec.type === AUTH_SERVER) return;
  const unbuilt = unbuiltStrategy(config.spec.type);
  if (unbuilt) {
    report.problem(unbuilt.reason, unbuilt.path, unbuilt.message);
    return;
  }
  const block = `spec.${config.spec.type}`;
  const place = (below: string): string => (below === '' ? block : `${block}.${below}`);
  resolveStrategy(config.spec, {
    upstreams: new Set(),
    secretFile: ({ name, key }) => scope.mount('Secret', name, key),
    checkUrl(url, below, flags) {
      checkUserUrl(url, { path: place(below), block, flags, mode: scope.platform.mode }, report);
    },
    problem({ reason, path, message }) {
      // Only a VirtualMCPServer that uses the config has upstream providers.
      if (reason !== 'UpstreamProviderUnknown') report.problem(reason, place(path), message);
    },
  });
}

/**
 * Returns the transport of the requests that carry the credential. The own gateway of a stdio server in a cluster accepts
 * a credential that the virtual server names; the reference of the server itself is for the server, which cannot.
 */
function transportOf(backend: MCPServer | MCPServerEntry, { owner }: ConfigChoice, scope: Scope): Backend['transport'] {
  const { transport = 'stdio' } = backend.spec;
  const isBehindGateway =
    scope.platform.mode === 'cluster' && backend.kind === 'MCPServer' && authenticatesClients(backend);
  return isBehindGateway && owner === scope.vmcp ? exposedTransport(backend) : transport;
}

/** Checks a strategy against the backend's transport and the incoming mode. */
function checkUse(
  { name, owner, path }: ConfigChoice,
  { spec: { type } }: MCPExternalAuthConfig,
  transport: Backend['transport'],
  scope: Scope,
): void {
  if (transport === 'stdio' && type !== 'unauthenticated') {
    const message = `a stdio server has no HTTP requests that could carry a credential, and "${name}" is of type ${type}: remove the reference`;
    scope.on(owner).problem('OutgoingAuthOnStdio', path, message);
  }
  const strategy = STRATEGIES.find((each) => each.type === type);
  if (transport === 'sse' && strategy?.signs) {
    const message = `"${name}" is of type ${type}, which signs each request, and the transport sse cannot: set transport: streamable-http, or refer to another config`;
    scope.on(owner).problem('OutgoingAuthOnSse', path, message);
  }
  if (strategy?.perUser && !hasUsers(scope.vmcp.spec.incomingAuth.type)) {
    const message = `"${name}" is of type ${type}, which needs a user, and ${scope.terms.owner} is anonymous: ${scope.terms.authenticate}, or refer to another config`;
    scope.on(owner).problem('OutgoingAuthNeedsUser', path, message);
  }
}

function strategyScope(config: MCPExternalAuthConfig, scope: Scope): VariantScope {
  const report = scope.on(config);
  const block = `spec.${config.spec.type}`;
  const place = (below: string): string => (below === '' ? block : `${block}.${below}`);
  const { owner, authServer } = scope.terms;
  const { authServerConfig: server } = scope.vmcp.spec;
  const isInjectionDisabled = server?.disableUpstreamTokenInjection === true;
  return {
    upstreams: new Set(isInjectionDisabled ? [] : upstreamNames(scope)),
    secretFile: ({ name: secret, key }) => scope.mount('Secret', secret, key),
    checkUrl(url, below, flags) {
      if (isOwnAddress(url, scope)) {
        report.problem('CircularAddress', place(below), circularExchange(url, scope));
      } else {
        checkUserUrl(url, { path: place(below), block, flags, mode: scope.platform.mode }, report);
      }
    },
    problem({ reason, path, message }) {
      if (reason === 'UpstreamProviderUnknown' && isInjectionDisabled) {
        const advice = `${owner} disables the injection of upstream tokens: remove its disableUpstreamTokenInjection, or use another type`;
        report.problem('UpstreamTokensDisabled', place(path), advice);
      } else if (reason === 'UpstreamProviderUnknown' && !server) {
        const advice = `upstream tokens come from logins at the embedded authorization server, and ${owner} has none: set its ${authServer}`;
        report.problem('OutgoingAuthNeedsAuthServer', place(path), advice);
      } else report.problem(reason, place(path), message);
    },
  };
}

/** Chooses the config for the credential of a backend; undefined when it gets none. */
export function chooseConfig(backend: MCPServer | MCPServerEntry, vmcp: VirtualMCPServer): ConfigChoice | undefined {
  const outgoing = vmcp.spec.outgoingAuth;
  const ownName = backend.spec.externalAuthConfigRef?.name;
  const own = ownName === undefined ? undefined : { name: ownName, owner: backend, path: 'spec.externalAuthConfigRef' };
  const inline = outgoing?.source === 'inline';
  const entry = inline ? backendEntry(backend.metadata.name, vmcp) : undefined;
  if (entry?.type === 'externalAuthConfigRef') {
    const path = `${entry.path}.externalAuthConfigRef`;
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

/** Warns about entries of `outgoingAuth` without a backend. `backends` are the names of the group's members. */
export function checkOutgoing(scope: Scope, backends: readonly string[]): void {
  for (const { name, path } of backendEntries(scope.vmcp)) {
    if (backends.includes(name)) continue;
    scope.on(scope.vmcp).warning('UnknownBackend', path, unknownBackend(name, backends));
  }
}
