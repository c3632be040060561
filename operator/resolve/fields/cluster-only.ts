import { covers, occurrences, type FieldPattern } from './field-pattern.ts';
import type { Report } from '../scope.ts';
import type { Resource } from '../snapshot.ts';

/** A field that shapes Kubernetes objects and so has nothing to act on in local mode. */
export interface ClusterField {
  readonly kind: Resource['kind'];
  readonly pattern: FieldPattern;
  /** The schema's default: a field that holds it was probably not written at all. */
  readonly default?: unknown;
}

export const CLUSTER_FIELDS: readonly ClusterField[] = [
  { kind: 'VirtualMCPServer', pattern: 'spec.imagePullSecrets' },
  { kind: 'VirtualMCPServer', pattern: 'spec.podTemplateSpec' },
  { kind: 'VirtualMCPServer', pattern: 'spec.replicas' },
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

/** Says, in one warning per object, which of its fields act in a cluster only. For local mode. */
export function noteClusterFields(object: Resource, report: Report): void {
  const paths = CLUSTER_FIELDS.filter(({ kind }) => kind === object.kind).flatMap((field) =>
    occurrences(object, field.pattern)
      .filter(({ value }) => value !== field.default)
      .map(({ path }) => path),
  );
  const [first] = paths;
  if (first === undefined) return;
  report.warning('ClusterOnly', first, `no effect outside a cluster: ${paths.join(', ')}`);
}

/** Whether a field acts in a cluster only. */
export const isClusterField = (kind: Resource['kind'], field: FieldPattern): boolean =>
  CLUSTER_FIELDS.some((row) => row.kind === kind && covers(row.pattern, field));
