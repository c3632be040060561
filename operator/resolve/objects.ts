import { checkTokenSource } from './incoming/oidc.ts';
import { checkUnbuilt } from './fields/not-supported.ts';
import { checkStrategy } from './backends/outgoing.ts';
import { distinct, type ObjectProblem } from './problems.ts';
import { checkReferences } from './references.ts';
import { resolveEntry } from './backends/remote-backend.ts';
import { newObjectScope, type ObjectScope, type Platform } from './scope.ts';
import { resolveServer } from './backends/server-backend.ts';
import type { MCPExternalAuthConfig, MCPOIDCConfig, MCPServer, MCPServerEntry, Snapshot } from './snapshot.ts';
import { concise } from './vmcp.ts';

/** What is wrong with one object, whoever uses it. */
export interface Findings {
  readonly problems: readonly ObjectProblem[];
  readonly warnings: readonly ObjectProblem[];
}

const STDIO_CREDENTIAL =
  'a stdio server has no HTTP requests that could carry a credential: remove the reference, or refer to a config of type unauthenticated';

/** An MCPServer for itself. Problems of what it refers to are those of the other objects. */
export function checkMCPServer(server: MCPServer, snapshot: Snapshot, platform: Platform): Findings {
  const scope = newObjectScope(snapshot, platform);
  const report = scope.on(server);
  checkReferences(server, scope, report);
  resolveServer(server, scope);
  const { transport = 'stdio', externalAuthConfigRef: ref } = server.spec;
  const strategy = ref && snapshot.externalAuthConfigs.get(ref.name)?.spec.type;
  if (transport === 'stdio' && strategy !== undefined && strategy !== 'unauthenticated') {
    report.problem('OutgoingAuthOnStdio', 'spec.externalAuthConfigRef', STDIO_CREDENTIAL);
  }
  checkUnbuilt(server, platform.mode, report);
  return findings(scope);
}

/** An MCPServerEntry for itself. Problems of what it refers to are those of the other objects. */
export function checkMCPServerEntry(entry: MCPServerEntry, snapshot: Snapshot, platform: Platform): Findings {
  const scope = newObjectScope(snapshot, platform);
  checkReferences(entry, scope, scope.on(entry));
  resolveEntry(entry, scope);
  checkUnbuilt(entry, platform.mode, scope.on(entry));
  return findings(scope);
}

export function checkMCPOIDCConfig(config: MCPOIDCConfig, snapshot: Snapshot, platform: Platform): Findings {
  const scope = newObjectScope(snapshot, platform);
  checkTokenSource(config, scope);
  return findings(scope);
}

export function checkMCPExternalAuthConfig(
  config: MCPExternalAuthConfig,
  snapshot: Snapshot,
  platform: Platform,
): Findings {
  const scope = newObjectScope(snapshot, platform);
  checkStrategy(config, scope);
  return findings(scope);
}

/** Fields of an MCPServer that are about who uses it: its pods can run while these are wrong. */
const ABOUT_USERS = /^spec\.(groupRef|externalAuthConfigRef)\b/u;

/** Whether the pods of an MCPServer can be made, or brought to its spec, whatever was found. */
export const mayRun = (server: MCPServer, { problems }: Findings): boolean =>
  problems.every(
    ({ kind, name, path }) => kind === server.kind && name === server.metadata.name && ABOUT_USERS.test(path),
  );

const findings = ({ problems, warnings }: ObjectScope): Findings => ({
  problems: concise(problems),
  warnings: distinct(warnings),
});
