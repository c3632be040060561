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
import { virtualServerOf } from './virtual-server.ts';

/**
 * Resolves the gateway in front of one MCPServer, as that of a VirtualMCPServer with a single backend; undefined for a
 * server without controls. Problems name the fields of the MCPServer.
 */
export function resolveOwnGateway(server: MCPServer, snapshot: Snapshot, platform: Platform): Resolution | undefined {
  if (!hasOwnGateway(server)) return undefined;
  const scope = newScope(virtualServerOf(server), snapshot, platform, serviceUrl(server, snapshot.namespace));
  checkReferences(server, scope, scope.on(server), isControl);
  checkUsers(server, scope);
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

/** Returns the server as the only member. A credential of a stdio server is reported with its reference. */
function memberOf(server: MCPServer, { vmcp, snapshot, platform, endpoint }: Scope): CheckedMember {
  const scope = newScope(vmcp, snapshot, platform, endpoint);
  const { transport = 'stdio' } = server.spec;
  const credential = transport === 'stdio' ? undefined : resolveOutgoing(server, scope);
  const { kind, metadata } = server;
  return { kind, name: metadata.name, scope, backend: podBackend(server), ...(credential && { credential }) };
}
