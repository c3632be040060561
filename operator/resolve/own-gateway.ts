import { AUTH_SERVER } from '../../crds/kinds/mcp-external-auth-config.ts';
import type { GatewayConfig, Backend } from '../../gateway/contract/gateway-config.ts';
import { hasUsers } from '../../gateway/incoming/index.ts';
import { limitsUsers } from '../../gateway/policy/rate-limit/spec.ts';
import { serviceUrl, hostHeaderOf } from './backends/server-backend.ts';
import { resolveOutgoing } from './backends/outgoing.ts';
import type { CheckedMember } from './backends/members.ts';
import { checkReferences } from './references.ts';
import { newScope, type Platform, type Scope, type Terms, type ObjectProblem } from './scope.ts';
import type { MCPServer, Snapshot, VirtualMCPServer } from './snapshot.ts';
import { concise, resolveWith, type Resolution } from './vmcp.ts';
import { CONTROLS, hasOwnGateway, authenticatesClients } from './fields/controls.ts';
import { replicasOf } from './replicas.ts';
import { AUTH_SERVER_PATH } from './auth-server/spec.ts';

/**
 * Resolves the gateway in front of one MCPServer, as that of a VirtualMCPServer with a single backend; undefined for a
 * server without controls. Problems name the fields of the MCPServer.
 */
export function resolveOwnGateway(server: MCPServer, snapshot: Snapshot, platform: Platform): Resolution | undefined {
  if (!hasOwnGateway(server)) return undefined;
  const place = {
    endpoint: serviceUrl(server, snapshot.namespace),
    storeName: storeNameOf(server),
    terms: termsOfServer(server),
  };
  const scope = newScope(virtualServerOf(server, snapshot), snapshot, platform, place);
  checkReferences(server, scope, scope.on(server), isControl);
  checkUsers(server, scope);
  checkAuthServer(server, scope);
  warnOfTools(server, scope);
  const { config, excluded, ...found } = resolveWith([memberOf(server, scope)], scope);
  const problems = [...found.problems, ...excluded.flatMap((member) => member.problems)];
  const relocated = concise(problems.map((problem) => relocate(problem, server)));
  return {
    ...found,
    ...(config && relocated.length === 0 && { config: withoutGroup(config) }),
    problems: relocated,
    warnings: found.warnings.map((warning) => relocate(warning, server)),
    excluded: [],
  };
}

/** The server may be in no group, and the gateway serves no other member of its group. */
const withoutGroup = ({ group: _, ...config }: GatewayConfig): GatewayConfig => config;

const isControl = (path: string): boolean =>
  CONTROLS.some(({ field }) => path === `spec.${field}` || path.startsWith(`spec.${field}.`));

/** Reports controls that need users of a server without authentication. */
function checkUsers(server: MCPServer, scope: Scope): void {
  if (hasUsers(scope.vmcp.spec.incomingAuth.type)) return;
  const report = scope.on(server);
  for (const field of ['authzConfig', 'authzConfigRef'] as const) {
    if (server.spec[field] === undefined) continue;
    const message = 'clients are not authenticated, so no policy can decide about users: set oidcConfigRef';
    report.problem('RuleViolated', `spec.${field}`, message);
  }
  if (!limitsUsers(server.spec.rateLimiting)) return;
  const message = 'clients are not authenticated, so a perUser limit has no users: set oidcConfigRef, or use shared';
  report.problem('PerUserRequiresAuth', 'spec.rateLimiting', message);
}

/** Checks the config that `authServerRef` names. Clients get its tokens, so the server must accept them. */
function checkAuthServer(server: MCPServer, scope: Scope): void {
  const { authServerRef: ref, oidcConfigRef } = server.spec;
  if (!ref) return;
  const report = scope.on(server);
  if (!oidcConfigRef) {
    const message =
      'clients get tokens of the authorization server: set oidcConfigRef to an MCPOIDCConfig with its issuer, and the public URL of this server as audience';
    report.problem('RuleViolated', 'spec.authServerRef', message);
  }
  const config = scope.snapshot.externalAuthConfigs.get(ref.name);
  if (!config) return; // reported with the reference
  checkReferences(config, scope, scope.on(config));
  if (config.spec.type === AUTH_SERVER) return;
  const message = `MCPExternalAuthConfig "${ref.name}" is of type ${config.spec.type}: refer to one of type ${AUTH_SERVER}`;
  report.problem('InvalidType', 'spec.authServerRef.name', message);
}

/** Warns about tool rules, which only virtual servers apply: a policy can hide tools from direct clients. */
function warnOfTools(server: MCPServer, scope: Scope): void {
  if (!server.spec.toolConfigRef) return;
  const message =
    'only virtual servers of the group apply it, so clients of the own address see every tool: hide tools from them with authzConfig';
  scope.on(server).warning('NoEffect', 'spec.toolConfigRef', message);
}

/** Returns the server as the only member. A credential of a stdio server is reported with its reference. */
function memberOf(server: MCPServer, outer: Scope): CheckedMember {
  const scope = newScope(outer.vmcp, outer.snapshot, outer.platform, outer);
  const { transport = 'stdio' } = server.spec;
  const credential = transport === 'stdio' ? undefined : resolveOutgoing(server, scope);
  const { kind, metadata } = server;
  return { kind, name: metadata.name, scope, backend: podBackend(server), ...(credential && { credential }) };
}

type Spec = VirtualMCPServer['spec'];

/** Longer than the timeout of a client or of the gateway in front, which times out first and reports it. */
const TIMEOUT = '1h';

/** Name in the keys of stores. No VirtualMCPServer has a name with a dot. */
const storeNameOf = ({ metadata: { name } }: MCPServer): string => `server.${name}`;

/** Returns the VirtualMCPServer with this single backend that has the same controls. It passes names on unchanged. */
export function virtualServerOf(server: MCPServer, { externalAuthConfigs }: Snapshot): VirtualMCPServer {
  const { apiVersion, metadata, spec } = server;
  const { groupRef, authServerRef, telemetryConfigRef, webhookConfigRef, endpointPrefix } = spec;
  const authServerConfig = authServerRef && externalAuthConfigs.get(authServerRef.name)?.spec.embeddedAuthServer;
  return {
    apiVersion,
    kind: 'VirtualMCPServer',
    metadata,
    spec: {
      groupRef: groupRef ?? { name: metadata.name },
      incomingAuth: incomingAuth(server),
      ...(authServerConfig && { authServerConfig }),
      config: config(server),
      ...(endpointPrefix && { endpointPrefix }),
      ...sessions(server),
      ...(telemetryConfigRef && { telemetryConfigRef }),
      ...(webhookConfigRef && { webhookConfigRef }),
    },
  };
}

function incomingAuth(server: MCPServer): Spec['incomingAuth'] {
  const { oidcConfigRef, authzConfig, authzConfigRef } = server.spec;
  return {
    type: authenticatesClients(server) ? 'oidc' : 'anonymous',
    ...(oidcConfigRef && { oidcConfigRef }),
    ...(authzConfig && { authzConfig }),
    ...(authzConfigRef && { authzConfigRef }),
  };
}

const config = ({ spec: { audit, rateLimiting } }: MCPServer): NonNullable<Spec['config']> => ({
  aggregation: { conflictResolution: 'none' },
  operational: { timeouts: { default: TIMEOUT } },
  ...(audit && { audit }),
  ...(rateLimiting && { rateLimiting }),
});

/** Returns the storage, the affinity and the number of pods. A stdio server has at most one pod. */
function sessions({ spec }: MCPServer): Pick<Spec, 'sessionAffinity' | 'sessionStorage' | 'replicas'> {
  const { transport = 'stdio', sessionAffinity, sessionStorage: storage } = spec;
  const replicas = transport === 'stdio' ? 1 : replicasOf(spec);
  return {
    ...(replicas !== undefined && { replicas }),
    ...(sessionAffinity && { sessionAffinity }),
    ...(storage && { sessionStorage: storage }),
  };
}

/** Container of the server in its pod. */
export const SERVER_CONTAINER = 'mcp';
const DEFAULT_PORT = 8080;

/** Returns the port on which a server that speaks HTTP listens. */
export const listeningPort = ({ mcpPort = DEFAULT_PORT }: MCPServer['spec']): number => mcpPort;

/** Returns the name of the single pod of a stdio server. */
export const stdioPod = ({ metadata: { name } }: MCPServer): string => `mcp-${name}-0`;

/** Returns the server as the gateway in its own pod reaches it: through its standard streams or over loopback. */
export function podBackend(server: MCPServer): Backend {
  const { name } = server.metadata;
  const { transport = 'stdio' } = server.spec;
  if (transport === 'stdio') {
    const attach = { container: SERVER_CONTAINER, pod: stdioPod(server) };
    return { name, transport, attach, isolation: 'shared' };
  }
  const path = transport === 'sse' ? '/sse' : '/mcp';
  const url = `http://127.0.0.1:${String(listeningPort(server.spec))}${path}`;
  return { name, transport, url, per_replica: true, ...hostHeaderOf(server.spec) };
}

/** Fields of a VirtualMCPServer, and the fields of an MCPServer with the same meaning. The longest match applies. */
const FIELDS: readonly (readonly [counterpart: string, field: string])[] = CONTROLS.map(
  ({ field, counterpart }) => [`spec.${counterpart}`, `spec.${field}`] as const,
).toSorted(([a], [b]) => b.length - a.length);

/** Returns the words of sentences about the gateway of an MCPServer. */
const termsOfServer = ({ metadata: { name } }: MCPServer): Terms => ({
  owner: `MCPServer "${name}"`,
  authServer: 'authServerRef',
  authServerBlock: AUTH_SERVER,
  scopes: 'oidcConfigRef.scopes',
  authenticate: 'set its oidcConfigRef',
  trustProxies: 'set the chart value operator.defaultTrustedProxies',
  field: (path) => (isAtOrBelow(path, AUTH_SERVER_PATH) ? authServerField(path) : fieldOf(path)),
});

/** Returns a problem of the equivalent VirtualMCPServer as a problem of the MCPServer; others keep their place. */
function relocate(problem: ObjectProblem, { kind, metadata: { name }, spec }: MCPServer): ObjectProblem {
  if (problem.kind !== 'VirtualMCPServer' || problem.name !== name) return problem;
  const { authServerRef: ref } = spec;
  if (ref && isAtOrBelow(problem.path, AUTH_SERVER_PATH))
    return { ...problem, kind: 'MCPExternalAuthConfig', name: ref.name, path: authServerField(problem.path) };
  return { ...problem, kind, path: fieldOf(problem.path) };
}

/** Returns the field of an MCPExternalAuthConfig for a field of the authorization server. */
const authServerField = (path: string): string => `spec.${AUTH_SERVER}${path.slice(AUTH_SERVER_PATH.length)}`;

/** Returns the field of an MCPServer. Fields of `incomingAuth` that it does not have are about its tokens. */
function fieldOf(path: string): string {
  const row = FIELDS.find(([counterpart]) => isAtOrBelow(path, counterpart));
  if (row) return `${row[1]}${path.slice(row[0].length)}`;
  return isAtOrBelow(path, 'spec.incomingAuth') ? 'spec.oidcConfigRef' : path;
}

const isAtOrBelow = (path: string, start: string): boolean =>
  path === start || (path.startsWith(start) && /^[.[]/u.test(path.slice(start.length)));
