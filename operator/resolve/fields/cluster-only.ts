import { covers, occurrences, type FieldPattern } from './field-pattern.ts';
import type { Report } from '../scope.ts';
import type { Resource } from '../snapshot.ts';

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
