import { AUTH_SERVER } from '../../../crds/kinds/mcp-external-auth-config.ts';
import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { hasUsers } from '../../../gateway/incoming/index.ts';
import { limitsUsers } from '../../../gateway/policy/rate-limit/spec.ts';
import { serviceUrl } from '../backends/server-backend.ts';
import { resolveOutgoing } from '../backends/outgoing.ts';
import type { CheckedMember } from '../backends/members.ts';
import { checkReferences } from '../references.ts';
import { newScope, type Platform, type Scope } from '../scope.ts';
import type { MCPServer, Snapshot } from '../snapshot.ts';
import { concise, resolveWith, type Resolution } from '../vmcp.ts';
import { CONTROLS, hasOwnGateway } from '../fields/controls.ts';
import { podBackend } from './pod-backend.ts';
import { relocate } from './relocate.ts';
import { storeNameOf, virtualServerOf } from './virtual-server.ts';

/**
 * Resolves the gateway in front of one MCPServer, as that of a VirtualMCPServer with a single backend; undefined for a
 * server without controls. Problems name the fields of the MCPServer.
 */
export function resolveOwnGateway(server: MCPServer, snapshot: Snapshot, platform: Platform): Resolution | undefined {
  if (!hasOwnGateway(server)) return undefined;
  const place = { endpoint: serviceUrl(server, snapshot.namespace), storeName: storeNameOf(server) };
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

/** The server may be in no group, and the gateway serves no other member of one. */
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
