import { storeFacts } from '../../../gateway/authserver/storage/index.ts';
import type { Report } from '../scope.ts';
import type { MCPServer, Resource } from '../snapshot.ts';
import { STRATEGIES } from '../../../gateway/outgoing/index.ts';
import type { Problem } from '../../../gateway/contract/problem.ts';
import { occurrences, type FieldPattern, covers } from './field-path.ts';

type Spec = MCPServer['spec'];

/** Field of an MCPServer that a gateway in front of the server enforces. */
export interface Control {
  readonly field: keyof Spec;
  /** Field of a VirtualMCPServer with the same meaning, below `spec`. */
  readonly counterpart: string;
  /** Returns true for a value that asks for nothing. */
  readonly isInert?: (value: unknown) => boolean;
}

const member = (value: unknown, name: string): unknown => (value as Record<string, unknown> | null)?.[name];
const isOff = (value: unknown): boolean => member(value, 'enabled') !== true;
const isMemory = (value: unknown): boolean => {
  const provider = member(value, 'provider');
  return typeof provider === 'string' && !storeFacts(provider).isShared;
};

/** Controls of a single MCPServer. A server that sets one gets its own gateway. */
export const CONTROLS: readonly Control[] = [
  { field: 'audit', counterpart: 'config.audit', isInert: isOff },
  { field: 'authServerRef', counterpart: 'authServerConfig' },
  { field: 'authzConfig', counterpart: 'incomingAuth.authzConfig' },
  { field: 'authzConfigRef', counterpart: 'incomingAuth.authzConfigRef' },
  { field: 'oidcConfigRef', counterpart: 'incomingAuth.oidcConfigRef' },
  { field: 'rateLimiting', counterpart: 'config.rateLimiting' },
  { field: 'sessionStorage', counterpart: 'sessionStorage', isInert: isMemory },
  { field: 'telemetryConfigRef', counterpart: 'telemetryConfigRef' },
  { field: 'webhookConfigRef', counterpart: 'webhookConfigRef' },
];

const controlsOf = (spec: Spec): Control[] =>
  CONTROLS.filter(({ field, isInert }) => spec[field] !== undefined && isInert?.(spec[field]) !== true);

/** Returns true for a server that has its own gateway in a cluster. */
export const hasOwnGateway = ({ spec }: Pick<MCPServer, 'spec'>): boolean => controlsOf(spec).length > 0;

/** Returns true when the gateway of the server accepts only clients with a token. */
export const authenticatesClients = ({ spec }: MCPServer): boolean => spec.oidcConfigRef !== undefined;

/** Reason of a control that nothing applies in local mode. */
export const CONTROL_NEEDS_CLUSTER = 'ControlNeedsCluster';

/** Reports each control of a single server in local mode, where no gateway is in front of it that would apply them. */
export function reportControls({ spec }: MCPServer, report: Report): void {
  for (const { field, counterpart } of controlsOf(spec)) {
    const message = `in local mode a single server has no address of its own, so nothing would apply this: set spec.${counterpart} of the VirtualMCPServer, or remove this field`;
    report.problem(CONTROL_NEEDS_CLUSTER, `spec.${field}`, message);
  }
}

/** Field of the schema that the gateway does not support yet. A server that sets it does not start. */
export interface UnbuiltField {
  readonly kind: Resource['kind'];
  readonly pattern: FieldPattern;
  /** Name of the missing feature. */
  readonly feature: string;
  /** Returns true for a value that needs no support, such as the default or an explicit "off". */
  readonly isInert?: (value: unknown) => boolean;
}

const REASON = 'NotSupportedYet';

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const COMPOSITE = 'tool composition';
const OPTIMIZER = 'the optimizer';

/** Unsupported fields. Delete the row when the feature is built. */
export const UNBUILT_FIELDS: readonly UnbuiltField[] = [
  { kind: 'VirtualMCPServer', pattern: 'spec.embeddingServerRef', feature: OPTIMIZER },
  { kind: 'VirtualMCPServer', pattern: 'spec.config.codeMode', feature: 'code mode', isInert: isOff },
  { kind: 'VirtualMCPServer', pattern: 'spec.config.compositeToolRefs', feature: COMPOSITE },
  { kind: 'VirtualMCPServer', pattern: 'spec.config.compositeTools', feature: COMPOSITE },
  { kind: 'VirtualMCPServer', pattern: 'spec.config.optimizer', feature: OPTIMIZER },
];

/** Reports every unsupported field of an object. */
export function checkUnbuilt(object: Resource, report: Report): void {
  for (const { kind, pattern, feature, isInert } of UNBUILT_FIELDS) {
    if (kind !== object.kind) continue;
    for (const { path, value } of occurrences(object, pattern)) {
      if (!isEmptyList(value) && !isInert?.(value))
        report.problem(REASON, path, `${feature} is not built yet: remove this field`);
    }
  }
}

/** Returns the problem of a strategy that the registry lists but that is not built yet. */
export function unbuiltStrategy(type: string): Problem | undefined {
  if (STRATEGIES.some((strategy) => strategy.type === type && strategy.supported)) return undefined;
  return { reason: REASON, path: 'spec.type', message: `strategy ${type} is not built yet: use type unauthenticated` };
}

/** Field that only affects Kubernetes objects and has no effect in local mode. */
export interface ClusterField {
  readonly kind: Resource['kind'];
  readonly pattern: FieldPattern;
  /** Default of the schema. A field with this value was probably not written by the user. */
  readonly default?: unknown;
}

export const CLUSTER_FIELDS: readonly ClusterField[] = [
  { kind: 'VirtualMCPServer', pattern: 'spec.imagePullSecrets' },
  { kind: 'VirtualMCPServer', pattern: 'spec.podTemplateSpec' },
  { kind: 'VirtualMCPServer', pattern: 'spec.replicas' },
  { kind: 'VirtualMCPServer', pattern: 'spec.resourceOverrides' },
  { kind: 'VirtualMCPServer', pattern: 'spec.route' },
  { kind: 'VirtualMCPServer', pattern: 'spec.serviceAccount' },
  { kind: 'VirtualMCPServer', pattern: 'spec.serviceType', default: 'ClusterIP' },
  { kind: 'VirtualMCPServer', pattern: 'spec.sessionAffinity', default: 'ClientIP' },
  {
    kind: 'VirtualMCPServer',
    pattern: 'spec.config.operational.failureHandling.statusReportingInterval',
    default: '30s',
  },
  { kind: 'MCPServer', pattern: 'spec.backendReplicas' },
  { kind: 'MCPServer', pattern: 'spec.endpointPrefix' },
  { kind: 'MCPServer', pattern: 'spec.maxRequestBodySize' },
  { kind: 'MCPServer', pattern: 'spec.podTemplateSpec' },
  { kind: 'MCPServer', pattern: 'spec.proxyMode', default: 'streamable-http' },
  { kind: 'MCPServer', pattern: 'spec.proxyPort', default: 8080 },
  { kind: 'MCPServer', pattern: 'spec.proxyReadTimeout' },
  { kind: 'MCPServer', pattern: 'spec.replicas' },
  { kind: 'MCPServer', pattern: 'spec.resourceOverrides' },
  { kind: 'MCPServer', pattern: 'spec.resources' },
  { kind: 'MCPServer', pattern: 'spec.serviceAccount' },
  { kind: 'MCPServer', pattern: 'spec.sessionAffinity', default: 'ClientIP' },
  { kind: 'MCPServer', pattern: 'spec.trustProxyHeaders', default: false },
];

/** Reports, in one warning per object, the fields that have an effect only in a cluster. */
export function reportClusterFields(object: Resource, report: Report): void {
  const paths = CLUSTER_FIELDS.filter(({ kind }) => kind === object.kind).flatMap((field) =>
    occurrences(object, field.pattern)
      .filter(({ value }) => value !== field.default)
      .map(({ path }) => path),
  );
  const [first] = paths;
  if (first === undefined) return;
  const others = paths.length > 1 ? `, like ${paths.slice(1).join(', ')}` : '';
  report.warning('ClusterOnly', first, `no effect outside a cluster${others}`);
}

/** Returns true for a field that has an effect only in a cluster. */
export const isClusterField = (kind: Resource['kind'], field: FieldPattern): boolean =>
  CLUSTER_FIELDS.some((row) => row.kind === kind && covers(row.pattern, field));
