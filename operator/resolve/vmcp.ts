import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import { SCHEMA_VERSION } from '../../gateway/contract/run-config.ts';
import { resolveAggregation } from './aggregation.ts';
import { resolveAuthServer } from './auth-server.ts';
import { resolveBackends } from './backends.ts';
import { noteClusterFields } from './cluster-only.ts';
import { checkConfig, sortKeys } from './config-check.ts';
import { isProtocolHeader } from '../../gateway/contract/header-names.ts';
import { resolveIncoming } from './incoming.ts';
import { checkUnbuilt } from './not-supported.ts';
import { resolveOperational } from './operational.ts';
import { checkOutgoing } from './outgoing.ts';
import { distinct, type ObjectProblem } from './problems.ts';
import { checkReferences } from './references.ts';
import { newScope, type Mount, type Platform, type Scope } from './scope.ts';
import { compareText, members, type Snapshot, type VirtualMCPServer } from './snapshot.ts';

export interface Resolution {
  /** Present exactly when there are no problems. Its members are in the order of their names. */
  readonly config?: GatewayConfig;
  /** Files that `config` names, sorted by path. */
  readonly mounts: readonly Mount[];
  readonly problems: readonly ObjectProblem[];
  readonly warnings: readonly ObjectProblem[];
}

/**
 * One VirtualMCPServer in, the gateway's configuration out, or everything that is wrong with it.
 * Pure: the same snapshot and platform give the same bytes.
 */
export function resolve(vmcp: VirtualMCPServer, snapshot: Snapshot, platform: Platform): Resolution {
  const scope = newScope(vmcp, snapshot, platform);
  const backends = members(snapshot, vmcp.spec.groupRef.name);
  const names = [...new Set([...backends.map(({ metadata }) => metadata.name), ...brokenMembers(scope)])];
  checkReferences(vmcp, snapshot, scope.on(vmcp));
  checkOutgoing(scope, names);
  const authServer = resolveAuthServer(scope);
  const headers = resolvePassthrough(scope);
  const { incoming, oidc } = resolveIncoming(scope);
  const { backends: resolved, outgoingAuth } = resolveBackends(scope);
  const config: GatewayConfig = {
    schema_version: SCHEMA_VERSION,
    name: vmcp.metadata.name,
    group: vmcp.spec.groupRef.name,
    ...(oidc && { oidc_config: oidc }),
    ...(authServer && { embedded_auth_server_config: authServer }),
    vmcp: {
      namespace: snapshot.namespace,
      incoming,
      backends: resolved,
      ...(outgoingAuth && { outgoing_auth: outgoingAuth }),
      aggregation: resolveAggregation(scope, names),
      operational: resolveOperational(scope, names),
      ...(headers && { passthrough_headers: headers }),
      ...(vmcp.spec.config?.metadata && { metadata: vmcp.spec.config.metadata }),
    },
  };
  for (const object of [vmcp, ...backends]) {
    checkUnbuilt(object, scope.on(object));
    if (platform.mode === 'local') noteClusterFields(object, scope.on(object));
  }
  return conclude(scope, config);
}

function conclude(scope: Scope, config: GatewayConfig): Resolution {
  const sorted = sortKeys(config);
  if (scope.problems.length === 0) checkConfig(sorted, scope.on(scope.vmcp));
  const mounts = [...scope.mounts.values()].toSorted((a, b) => compareText(a.path, b.path));
  const problems = withoutRepeatedFields(distinct(scope.problems));
  const warnings = distinct(scope.warnings);
  return problems.length === 0 ? { config: sorted, mounts, problems, warnings } : { mounts: [], problems, warnings };
}

/** Drops that a field is not built yet where something else is wrong with the same field. */
function withoutRepeatedFields(problems: readonly ObjectProblem[]): ObjectProblem[] {
  const fieldOf = ({ kind, name, path }: ObjectProblem): string => JSON.stringify([kind, name, path]);
  const others = new Set(problems.filter(({ reason }) => reason !== 'NotSupportedYet').map(fieldOf));
  return problems.filter((problem) => problem.reason !== 'NotSupportedYet' || !others.has(fieldOf(problem)));
}

function brokenMembers({ vmcp, snapshot }: Scope): string[] {
  return [...snapshot.broken.values()].filter(({ group }) => group === vmcp.spec.groupRef.name).map(({ name }) => name);
}

/** Headers copied from the client's request; the field of the specification's level wins over the one in `config`. */
function resolvePassthrough(scope: Scope): string[] | undefined {
  const { passthroughHeaders, config } = scope.vmcp.spec;
  const path = passthroughHeaders ? 'spec.passthroughHeaders' : 'spec.config.passthroughHeaders';
  const headers = passthroughHeaders ?? config?.passthroughHeaders;
  const report = scope.on(scope.vmcp);
  if (passthroughHeaders && config?.passthroughHeaders) {
    report.warning(
      'NoEffect',
      'spec.config.passthroughHeaders',
      'spec.passthroughHeaders wins over it: remove one of the two',
    );
  }
  headers?.forEach((name, index) => {
    if (!isProtocolHeader(name)) return;
    report.problem(
      'RestrictedHeader',
      `${path}[${String(index)}]`,
      `"${name}" is written by the protocol itself: remove it`,
    );
  });
  return headers;
}
