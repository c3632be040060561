import { checkSharedPolicies } from './incoming/authorization.ts';
import { checkTokenSource } from './incoming/incoming.ts';
import { checkTelemetryConfig, checkWebhooks } from './telemetry.ts';
import { checkUnbuilt, reportControls } from './fields/controls.ts';
import { checkStrategy, isCredential } from './backends/outgoing.ts';
import { resolveOwnGateway } from './own-gateway.ts';
import { distinct, type ObjectProblem, newObjectScope, reportInto, type ObjectScope, type Platform } from './scope.ts';
import { checkReferences } from './references.ts';
import { resolveEntry } from './backends/remote-backend.ts';
import { resolveServer } from './backends/server-backend.ts';
import type { MCPExternalAuthConfig, MCPServer, MCPServerEntry, Resource, Snapshot } from './snapshot.ts';
import { concise, resolve, type Resolution } from './vmcp.ts';
import { checkToolConfig } from './aggregation.ts';

/** Result of checking one object independently of the objects that use it. */
export interface CheckResult {
  readonly problems: readonly ObjectProblem[];
  readonly warnings: readonly ObjectProblem[];
}

const STDIO_CREDENTIAL =
  'a stdio server has no HTTP requests that could carry a credential: remove the reference, or refer to a config of type unauthenticated';

/** Result of checking an MCPServer. */
export interface ServerCheck extends CheckResult {
  /** Gateway in front of the server; absent without controls. */
  readonly gateway?: Resolution;
}

/**
 * Checks an MCPServer on its own. Problems of referenced objects belong to those objects, except for the configs that
 * its own gateway uses.
 */
export function checkMCPServer(server: MCPServer, snapshot: Snapshot, platform: Platform): ServerCheck {
  const scope = newObjectScope(snapshot, platform);
  const report = scope.on(server);
  checkReferences(server, scope, report);
  resolveServer(server, scope);
  const { transport = 'stdio' } = server.spec;
  const strategy = ownCredential(server, scope)?.spec.type;
  if (transport === 'stdio' && strategy !== undefined && strategy !== 'unauthenticated') {
    report.problem('OutgoingAuthOnStdio', 'spec.externalAuthConfigRef', STDIO_CREDENTIAL);
  }
  checkUnbuilt(server, report);
  if (platform.mode === 'local') reportControls(server, report);
  const gateway = platform.mode === 'cluster' ? resolveOwnGateway(server, snapshot, platform) : undefined;
  if (!gateway) return resultOf(scope);
  scope.problems.push(...gateway.problems);
  scope.warnings.push(...gateway.warnings);
  return { ...resultOf(scope), gateway };
}

/** Returns the config of the credential that a server refers to; undefined for none, and for one that gives no credential. */
function ownCredential(server: MCPServer | MCPServerEntry, scope: ObjectScope): MCPExternalAuthConfig | undefined {
  const config = scope.snapshot.externalAuthConfigs.get(server.spec.externalAuthConfigRef?.name ?? '');
  const isUsable = config && isCredential(config, { owner: server, path: 'spec.externalAuthConfigRef' }, scope);
  return isUsable ? config : undefined;
}

/** Checks an MCPServerEntry on its own. Problems of referenced objects belong to those objects. */
export function checkMCPServerEntry(entry: MCPServerEntry, snapshot: Snapshot, platform: Platform): CheckResult {
  const scope = newObjectScope(snapshot, platform);
  checkReferences(entry, scope, scope.on(entry));
  ownCredential(entry, scope);
  resolveEntry(entry, scope);
  checkUnbuilt(entry, scope.on(entry));
  return resultOf(scope);
}

/** Returns the check of a config kind, independent of the objects that use the config. */
const checkBy =
  <Config>(check: (config: Config, scope: ObjectScope) => unknown) =>
  (config: Config, snapshot: Snapshot, platform: Platform): CheckResult => {
    const scope = newObjectScope(snapshot, platform);
    check(config, scope);
    return resultOf(scope);
  };

export const checkMCPOIDCConfig = checkBy(checkTokenSource);
export const checkMCPAuthzConfig = checkBy(checkSharedPolicies);
export const checkMCPTelemetryConfig = checkBy(checkTelemetryConfig);
export const checkMCPExternalAuthConfig = checkBy(checkStrategy);
export const checkMCPToolConfig = checkBy(checkToolConfig);
export const checkMCPWebhookConfig = checkBy(checkWebhooks);

/** Fields of an MCPServer that affect only its clients: its pods can run while these are invalid. */
const CLIENT_FIELDS = /^spec\.(groupRef|externalAuthConfigRef|toolConfigRef)\b/u;

/**
 * Returns true when the pods of an MCPServer can be created or updated despite the problems. Without the configuration of
 * its own gateway the server would be open to all.
 */
export const canRun = (server: MCPServer, { problems, gateway }: ServerCheck): boolean =>
  (gateway === undefined || gateway.config !== undefined) &&
  problems.every(
    ({ kind, name, path }) => kind === server.kind && name === server.metadata.name && CLIENT_FIELDS.test(path),
  );

/** Checks one object of any kind as the operator does for its status. */
export function checkObject(object: Resource, snapshot: Snapshot, platform: Platform): CheckResult {
  const own = checkOwn(object, snapshot, platform);
  const problems = [...own.problems];
  const warnings = [...own.warnings];
  const { kind, metadata } = object;
  const report = reportInto({ kind, namespace: snapshot.namespace, name: metadata.name }, problems, warnings);
  checkReferences(object, { snapshot, platform }, report);
  return { problems, warnings };
}

function checkOwn(object: Resource, snapshot: Snapshot, platform: Platform): CheckResult {
  switch (object.kind) {
    case 'VirtualMCPServer': {
      const { problems, warnings, excluded } = resolve(object, snapshot, platform);
      return { problems: [...problems, ...excluded.flatMap((member) => member.problems)], warnings };
    }
    case 'MCPServer':
      return checkMCPServer(object, snapshot, platform);
    case 'MCPServerEntry':
      return checkMCPServerEntry(object, snapshot, platform);
    case 'MCPOIDCConfig':
      return checkMCPOIDCConfig(object, snapshot, platform);
    case 'MCPExternalAuthConfig':
      return checkMCPExternalAuthConfig(object, snapshot, platform);
    case 'MCPAuthzConfig':
      return checkMCPAuthzConfig(object, snapshot, platform);
    case 'MCPTelemetryConfig':
      return checkMCPTelemetryConfig(object, snapshot, platform);
    case 'MCPWebhookConfig':
      return checkMCPWebhookConfig(object, snapshot, platform);
    case 'MCPToolConfig':
      return checkMCPToolConfig(object, snapshot, platform);
    case 'MCPGroup':
      return { problems: [], warnings: [] };
  }
}

const resultOf = ({ problems, warnings }: ObjectScope): CheckResult => ({
  problems: concise(problems),
  warnings: distinct(warnings),
});
