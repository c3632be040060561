import { API_GROUP } from '../../../contract/api-group.ts';
import { OWN_API_VERSION, type KubeObject } from '../../../kube/resource.ts';
import type { ServerSpec } from '../../server-run-config.ts';

/** Kinds of workloads: servers that run in pods, and remote servers. */
export const WORKLOAD_KINDS = ['MCPServer', 'MCPServerEntry'] as const;
export type WorkloadKind = (typeof WORKLOAD_KINDS)[number];

/** Field manager of all that the management API applies. */
export const FIELD_MANAGER = 'vmcp-management';

/** Number of pods before a stop; empty when an autoscaler or the default sets it. */
export const REPLICAS_BEFORE_STOP = `management.${API_GROUP}/replicas-before-stop`;
/** Time of the last restart, which the operator passes on to the pods. */
export const RESTARTED_AT = `mcpserver.${API_GROUP}/restarted-at`;

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime?: string;
}

interface Status {
  readonly phase?: string;
  readonly message?: string;
  readonly url?: string;
  readonly readyReplicas?: number;
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
}

/** Owner of fields, as the API server records it. */
export interface ManagedFields {
  readonly manager?: string;
  readonly operation?: 'Apply' | 'Update';
  readonly subresource?: string;
  readonly fieldsV1?: Readonly<Record<string, unknown>>;
}

interface Metadata extends Omit<KubeObject['metadata'], 'namespace'> {
  readonly namespace: string;
  readonly managedFields?: readonly ManagedFields[];
}

interface StoredObject extends KubeObject {
  readonly metadata: Metadata;
  readonly status?: Status;
}

export interface ServerObject extends StoredObject {
  readonly kind: 'MCPServer';
  readonly spec: ServerSpec & { readonly replicas?: number };
}

/** Fields of the spec of an MCPServerEntry that a run configuration has too. */
export interface EntrySpec {
  readonly remoteUrl: string;
  readonly transport: 'sse' | 'streamable-http';
  readonly groupRef: { readonly name: string };
  readonly headerForward?: {
    readonly addPlaintextHeaders?: Readonly<Record<string, string>>;
    readonly addHeadersFromSecret?: readonly {
      readonly headerName: string;
      readonly valueSecretRef: { readonly name: string; readonly key: string };
    }[];
  };
}

export interface EntryObject extends StoredObject {
  readonly kind: 'MCPServerEntry';
  readonly spec: EntrySpec;
}

/** Object of a workload. */
export type WorkloadObject = ServerObject | EntryObject;

/** Desired object of a workload, without the fields that others set. */
export type DesiredWorkload = { readonly annotations?: Readonly<Record<string, string>> } & (
  | { readonly kind: 'MCPServer'; readonly spec: ServerSpec }
  | { readonly kind: 'MCPServerEntry'; readonly spec: EntrySpec }
);

/** Returns the object to apply with these fields of the spec. */
export const manifestOf = (
  kind: WorkloadKind,
  metadata: KubeObject['metadata'],
  spec: Readonly<Record<string, unknown>>,
): KubeObject => {
  const { annotations = {}, ...others } = metadata;
  const isAnnotated = Object.keys(annotations).length > 0;
  return { apiVersion: OWN_API_VERSION, kind, metadata: { ...others, ...(isAnnotated && { annotations }) }, spec };
};
