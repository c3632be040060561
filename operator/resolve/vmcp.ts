import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import type { ToolRules } from '../../gateway/contract/aggregation/aggregation.ts';
import { SCHEMA_VERSION } from '../../gateway/contract/run-config/run-config.ts';
import { resolveAggregation } from './aggregation.ts';
import { resolveAudit, resolveTelemetry, resolveWebhooks } from './telemetry.ts';
import { resolveAuthServer } from './auth-server/auth-server.ts';
import { checkMembers, type CheckedMember } from './backends/members.ts';
import { HOST_VARIABLE_NOT_SET } from './backends/server-backend.ts';
import { reportClusterFields, checkUnbuilt } from './fields/controls.ts';
import { backendOf, configFaults, reportFaults, sortKeys } from './config-check.ts';
import { isProtocolHeader } from '../../gateway/contract/reserved-names.ts';
import { resolveAuthorization } from './incoming/authorization.ts';
import { resolveIncoming, resolvePrefix } from './incoming/incoming.ts';
import { resolveOperational } from './operational.ts';
import { checkOutgoing } from './backends/outgoing.ts';
import { resolveRateLimits, resolveMemory, resolveSessionStorage } from './replicas.ts';
import { distinct, type ObjectProblem, absorb, newScope, type Mount, type Platform, type Scope } from './scope.ts';
import { checkReferences } from './references.ts';
import { compareText, type Snapshot, type VirtualMCPServer } from './snapshot.ts';

export interface Resolution {
  /** Present exactly when there are no problems. Members are sorted by name. */
  readonly config?: GatewayConfig;
  /** Files that `config` refers to, sorted by path. */
  readonly mounts: readonly Mount[];
  readonly problems: readonly ObjectProblem[];
  readonly warnings: readonly ObjectProblem[];
  /**
   * Members that are not served, while the others are: in a cluster every invalid one, in local mode those that only lack
   * a Secret or a host variable. Sorted by name, then kind.
   */
  readonly excluded: readonly ExcludedMember[];
  /** Changes that several pods would need. Present when the number of pods is absent and only a single pod can serve. */
  readonly onePod?: string;
}

export interface ExcludedMember {
  readonly kind: string;
  readonly name: string;
  readonly problems: readonly ObjectProblem[];
}

/**
 * Resolves one VirtualMCPServer to the gateway's configuration or to all its problems. In a cluster a member with a
 * problem is excluded. In local mode its problem is a problem of the server, unless it only lacks a value.
 * Pure: the same snapshot and platform give the same bytes.
 */
export function resolve(vmcp: VirtualMCPServer, snapshot: Snapshot, platform: Platform): Resolution {
  const scope = newScope(vmcp, snapshot, platform);
  const members = checkMembers(scope);
  checkReferences(vmcp, scope, scope.on(vmcp), (path) => platform.mode === 'local' || !isOutgoing(path));
  return resolveWith(members, scope);
}

/** Resolves the virtual server of a scope with these members. Its references are checked already. */
export function resolveWith(members: readonly CheckedMember[], scope: Scope): Resolution {
  const { vmcp, platform } = scope;
  const names = [...new Set(members.map(({ name }) => name))];
  checkOutgoing(scope, names);
  const frame = resolveFrame(scope, names, toolsOf(members));
  checkUnbuilt(vmcp, scope.on(vmcp));
  if (platform.mode === 'cluster') return concludeInCluster(scope, frame, members);
  reportClusterFields(vmcp, scope.on(vmcp));
  return concludeLocally(scope, frame, members);
}

/** Excludes every backend that only lacks a Secret or a host variable. */
function concludeLocally(scope: Scope, frame: GatewayConfig, members: readonly CheckedMember[]): Resolution {
  const served = members.filter((member) => !lacksValues(member));
  for (const member of served) absorb(scope, member.scope);
  return { ...conclude(scope, withBackends(frame, served)), excluded: excludedMembers(members.filter(lacksValues)) };
}

const ABOUT_VALUES: ReadonlySet<string> = new Set(['SecretNotFound', 'SecretKeyNotFound', HOST_VARIABLE_NOT_SET]);

/** Returns true for a member whose only problems are values that this machine does not have yet. */
const lacksValues = ({ scope: { problems } }: CheckedMember): boolean =>
  problems.length > 0 && problems.every(({ reason }) => ABOUT_VALUES.has(reason));

const excludedMembers = (members: readonly CheckedMember[]): ExcludedMember[] =>
  members
    .map(({ kind, name, scope: { problems } }) => ({ kind, name, problems: concise(problems) }))
    .toSorted((a, b) => compareText(a.name, b.name) || compareText(a.kind, b.kind));

/** Returns true for fields of `outgoingAuth`, whose problems in a cluster belong to the backends. */
const isOutgoing = (path: string): boolean => path.startsWith('spec.outgoingAuth.');

/** The configuration without its backends. `tools` are the rules that members have in every virtual server. */
function resolveFrame(scope: Scope, names: readonly string[], tools: ReadonlyMap<string, ToolRules>): GatewayConfig {
  const { vmcp, snapshot } = scope;
  const authServer = resolveAuthServer(scope);
  const headers = resolvePassthrough(scope);
  const audit = resolveAudit(scope);
  const { incoming, oidc } = resolveIncoming(scope);
  const authz = resolveAuthorization(scope);
  const telemetry = resolveTelemetry(scope);
  const olderHeaders = vmcp.spec.config?.olderVersionHeaderClients;
  return {
    schema_version: SCHEMA_VERSION,
    name: vmcp.metadata.name,
    group: vmcp.spec.groupRef.name,
    ...resolvePrefix(scope, oidc),
    ...(oidc && { oidc_config: oidc }),
    ...(authz && { authz_config: authz }),
    ...(audit && { audit_config: audit }),
    ...(authServer && { embedded_auth_server_config: authServer }),
    ...resolveSessionStorage(scope),
    ...resolveRateLimits(scope),
    ...(telemetry && { telemetry_config: telemetry }),
    ...resolveWebhooks(scope),
    vmcp: {
      namespace: snapshot.namespace,
      incoming,
      backends: [],
      aggregation: resolveAggregation(scope, names, tools),
      operational: resolveOperational(scope, names),
      ...(headers && { passthrough_headers: headers }),
      ...(olderHeaders && { older_version_header_clients: olderHeaders }),
      ...(vmcp.spec.config?.metadata && { metadata: vmcp.spec.config.metadata }),
      ...resolveMemory(scope),
      ...(scope.storeName !== vmcp.metadata.name && { store_name: scope.storeName }),
    },
  };
}

function withBackends(frame: GatewayConfig, members: readonly CheckedMember[]): GatewayConfig {
  const credentials = members.flatMap(({ name, credential }) => (credential ? [[name, credential] as const] : []));
  const tools = toolsOf(members);
  return {
    ...frame,
    vmcp: {
      ...frame.vmcp,
      backends: members.flatMap(({ backend }) => backend ?? []),
      ...(credentials.length > 0 && { outgoing_auth: Object.fromEntries(credentials) }),
      ...(tools.size > 0 && { aggregation: { ...frame.vmcp.aggregation, backend_tools: Object.fromEntries(tools) } }),
    },
  };
}

const toolsOf = (members: readonly CheckedMember[]): ReadonlyMap<string, ToolRules> =>
  new Map(
    members.flatMap(({ name, tools }) => (tools && Object.keys(tools).length > 0 ? [[name, tools] as const] : [])),
  );

/** Excludes every backend that has a problem, so that none is called without its credential. */
function concludeInCluster(scope: Scope, frame: GatewayConfig, members: readonly CheckedMember[]): Resolution {
  const valid = (): CheckedMember[] => members.filter((member) => member.scope.problems.length === 0);
  const config = withBackends(frame, valid());
  const faults = scope.problems.length === 0 ? configFaults(config) : [];
  for (const fault of faults) {
    const member = members.find(({ name, backend }) => backend && name === backendOf(fault, config));
    if (member) reportFaults([fault], member.scope.on({ kind: member.kind, metadata: { name: member.name } }));
  }
  for (const member of valid()) scope.warnings.push(...member.scope.warnings);
  keepMounts(scope, members);
  const excluded = excludedMembers(members.filter((member) => member.scope.problems.length > 0));
  const rest = faults.length === 0 ? config : withBackends(frame, valid());
  return { ...conclude(scope, rest, faults.length === 0), excluded };
}

const ABOUT_CONTENTS: ReadonlySet<string> = new Set([
  'SecretNotFound',
  'SecretKeyNotFound',
  'ConfigMapNotFound',
  'ConfigMapKeyNotFound',
  'CABundleRefInvalid',
]);

/**
 * Adds the files of members as optional mounts. A member whose Secret or ConfigMap is missing keeps its files: deleting
 * and recreating one must not replace the pods, which re-read backends and files while they run.
 */
function keepMounts({ mounts }: Scope, members: readonly CheckedMember[]): void {
  for (const member of members) {
    if (!member.scope.problems.every(({ reason }) => ABOUT_CONTENTS.has(reason))) continue;
    for (const [path, mount] of member.scope.mounts) {
      if (!mounts.has(path)) mounts.set(path, { ...mount, optional: true });
    }
  }
}

/** @param isChecked the gateway's validator has accepted `config` */
function conclude(scope: Scope, config: GatewayConfig, isChecked = false): Resolution {
  const sorted = sortKeys(config);
  if (scope.problems.length === 0 && !isChecked) reportFaults(configFaults(sorted), scope.on(scope.vmcp));
  const mounts = [...scope.mounts.values()].toSorted((a, b) => compareText(a.path, b.path));
  const problems = concise(scope.problems);
  const onePod = scope.onePod.join(', and ');
  const found = { problems, warnings: distinct(scope.warnings), excluded: [], ...(onePod !== '' && { onePod }) };
  return problems.length === 0 ? { config: sorted, mounts, ...found } : { mounts: [], ...found };
}

/** Removes repetitions, and `NotSupportedYet` where the same field has another problem. */
export function concise(found: readonly ObjectProblem[]): ObjectProblem[] {
  const problems = distinct(found);
  const fieldOf = ({ kind, name, path }: ObjectProblem): string => JSON.stringify([kind, name, path]);
  const others = new Set(problems.filter(({ reason }) => reason !== 'NotSupportedYet').map(fieldOf));
  return problems.filter((problem) => problem.reason !== 'NotSupportedYet' || !others.has(fieldOf(problem)));
}

/** Resolves the headers copied from the client's request. `spec.passthroughHeaders` precedes the field in `config`. */
function resolvePassthrough(scope: Scope): string[] | undefined {
  const { passthroughHeaders, config } = scope.vmcp.spec;
  const path = passthroughHeaders ? 'spec.passthroughHeaders' : 'spec.config.passthroughHeaders';
  const headers = passthroughHeaders ?? config?.passthroughHeaders;
  const report = scope.on(scope.vmcp);
  if (passthroughHeaders && config?.passthroughHeaders) {
    report.warning(
      'NoEffect',
      'spec.config.passthroughHeaders',
      'spec.passthroughHeaders takes precedence: remove one of the two',
    );
  }
  headers?.forEach((name, index) => {
    if (!isProtocolHeader(name)) return;
    report.problem(
      'RestrictedHeader',
      `${path}[${String(index)}]`,
      `"${name}" is set by the protocol itself: remove it`,
    );
  });
  return headers;
}
