import { API_GROUP } from '../../../gateway/contract/api-group.ts';
import { RESOURCES, type KubeObject } from '../../../gateway/kube/resource.ts';
import type { RenderOptions } from '../options.ts';
import { ownedObject, type Owned } from '../owned.ts';
import type { JsonObject } from '../../../gateway/contract/json.ts';

/** Renders the ServiceAccount of pods that the operator creates. Only pods that need its token mount it. */
export function serviceAccount(
  owned: Owned,
  name: string,
  imagePullSecrets: readonly { readonly name: string }[],
  { openshift }: RenderOptions,
): KubeObject {
  // OpenShift also writes this list, which cannot be merged. The pods list the Secrets as well.
  const named = imagePullSecrets.length > 0 && !openshift;
  return ownedObject(owned, RESOURCES.ServiceAccount, name, {
    automountServiceAccountToken: false,
    ...(named && { imagePullSecrets }),
  });
}

/** Renders a Role and its binding to a ServiceAccount of the namespace. */
export function roleFor(owned: Owned, name: string, account: string, rules: readonly JsonObject[]): KubeObject[] {
  const { namespace } = owned.object;
  return [
    ownedObject(owned, RESOURCES.Role, name, { rules }),
    ownedObject(owned, RESOURCES.RoleBinding, name, {
      roleRef: { apiGroup: RESOURCES.Role.group, kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name: account, namespace }],
    }),
  ];
}

/** Returns the rules of a gateway in front of a group: it watches its backends and writes its part of one status. */
export const gatewayRules = (name: string, backendsConfigMap: string): readonly JsonObject[] => [
  {
    apiGroups: [''],
    resourceNames: [backendsConfigMap],
    resources: ['configmaps'],
    verbs: ['get', 'list', 'watch'],
  },
  { apiGroups: [API_GROUP], resourceNames: [name], resources: ['virtualmcpservers'], verbs: ['get'] },
  {
    apiGroups: [API_GROUP],
    resourceNames: [name],
    resources: ['virtualmcpservers/status'],
    verbs: ['get', 'patch', 'update'],
  },
];

/** Returns the rules of a gateway beside one stdio server: it attaches to the server in its own pod. */
export const attachRules = (pod: string): readonly JsonObject[] => [
  { apiGroups: [''], resourceNames: [pod], resources: ['pods'], verbs: ['get'] },
  { apiGroups: [''], resourceNames: [pod], resources: ['pods/attach'], verbs: ['create', 'get'] },
];
