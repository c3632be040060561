import { API_GROUP } from '../../gateway/contract/api-group.ts';
import { inheritedFrom, type Additions, type Texts } from './inherited.ts';
import { apiVersionOf, type KubeObject, type OwnerReference, type ResourceType } from '../../gateway/kube/resource.ts';
import type { ObjectRef } from '../resolve/problems.ts';
import type { JsonObject } from '../../gateway/contract/json.ts';

/** Metadata that all objects of one custom resource share. */
export interface Owned {
  readonly object: ObjectRef;
  readonly owner: OwnerReference;
  readonly labels: Texts;
  /** Labels and annotations of the resource that its objects inherit. */
  readonly inherited: Additions;
  /** Labels that select its pods. They never change, because a Deployment's selector is immutable. */
  readonly selector: Texts;
}

const COMPONENTS = { VirtualMCPServer: 'gateway', MCPServer: 'server' } as const;
const COMPONENT = 'app.kubernetes.io/component';
const MANAGED_BY = { 'app.kubernetes.io/managed-by': 'vmcp-operator' };

/** Labels of the pods of all VirtualMCPServers. */
export const GATEWAYS: Texts = { [COMPONENT]: COMPONENTS.VirtualMCPServer, ...MANAGED_BY };

/** Returns the labels that select the pods of a custom resource. */
export const selectorOf = (kind: keyof typeof COMPONENTS, name: string): Texts => ({
  'app.kubernetes.io/instance': name,
  'app.kubernetes.io/name': kind.toLowerCase(),
});

export function ownedBy(
  kind: keyof typeof COMPONENTS,
  metadata: { readonly name: string; readonly namespace?: string } & Additions,
  owner: OwnerReference,
): Owned {
  const { name, namespace = 'default' } = metadata;
  const selector = selectorOf(kind, name);
  const labels = {
    app: kind.toLowerCase(),
    ...selector,
    [COMPONENT]: COMPONENTS[kind],
    ...MANAGED_BY,
    'app.kubernetes.io/part-of': 'vmcp',
  };
  return { object: { kind, namespace, name }, owner, labels, inherited: inheritedFrom(metadata), selector };
}

/** Renders an object that Kubernetes deletes with its owner. */
export function ownedObject(
  { object, owner, labels, inherited }: Owned,
  type: ResourceType,
  name: string,
  members: JsonObject,
  additions: Additions = {},
): KubeObject {
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: {
      name,
      namespace: object.namespace,
      ownerReferences: [owner],
      ...metadataOf(
        labels,
        {},
        {
          labels: { ...inherited.labels, ...additions.labels },
          annotations: { ...inherited.annotations, ...additions.annotations },
        },
      ),
    },
    ...members,
  };
}

/** Returns the metadata of pods. They inherit labels; a change of a resource's annotations must not replace them. */
export const podMetadata = ({ labels, inherited }: Owned, annotations: Texts, additions: Additions = {}): Additions =>
  metadataOf(labels, annotations, { ...additions, labels: { ...inherited.labels, ...additions.labels } });

/** Merges labels and annotations with a user's additions. */
function metadataOf(labels: Texts, annotations: Texts, additions: Additions = {}): Additions {
  const both = { ...additions.annotations, ...annotations };
  return {
    labels: { ...additions.labels, ...labels },
    ...(Object.keys(both).length > 0 && { annotations: both }),
  };
}

export const CHECKSUM_ANNOTATION = `${API_GROUP}/runconfig-checksum`;
