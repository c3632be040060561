import { apiVersionOf, RESOURCES, type ResourceType } from '../../gateway/kube/resource.ts';
import type { ObjectRef } from '../resolve/problems.ts';

const OWN_KINDS: ReadonlyMap<string, ResourceType> = new Map(
  [
    RESOURCES.VirtualMCPServer,
    RESOURCES.MCPServer,
    RESOURCES.MCPServerEntry,
    RESOURCES.MCPGroup,
    RESOURCES.MCPOIDCConfig,
    RESOURCES.MCPExternalAuthConfig,
  ].map((type) => [type.kind, type]),
);

export const OWN_API_VERSION = apiVersionOf(RESOURCES.VirtualMCPServer);

/** Whether the operator reconciles objects of this kind. */
export const isOwnKind = (kind: string): boolean => OWN_KINDS.has(kind);

/** Where a kind that the operator reconciles stands at the API server. Throws on any other. */
export function ownType({ kind }: Pick<ObjectRef, 'kind'>): ResourceType {
  const type = OWN_KINDS.get(kind);
  if (!type) throw new Error(`${kind} is no kind of ${OWN_API_VERSION}`);
  return type;
}
