import { RESOURCES, type KubeObject, type OwnerReference } from '../../gateway/kube/resource.ts';
import { DISCOVERED_BACKENDS_KEY } from '../../gateway/contract/discovered-backends.ts';
import type { Mount } from '../resolve/scope.ts';
import type { VirtualMCPServer } from '../resolve/snapshot.ts';
import {
  documentChecksum,
  documentConfigMap,
  gatewayNetworkPolicy,
  podDisruptionBudget,
  gatewayRules,
  roleFor,
  serviceAccount,
  httpRoute,
  service,
} from './objects.ts';
import {
  egressFiles,
  GATEWAY_CONTAINER,
  gatewayPart,
  gatewayUserAndFiles,
  GRACE_S,
  PUBLIC_PORT,
  type Size,
  backendsDocument,
  CONFIG_KEY,
  startDocument,
  mountedFiles,
} from './gateway.ts';
import type { Rendered, RenderOptions } from './options.ts';
import {
  CHECKSUM_ANNOTATION,
  ownedBy,
  ownedObject,
  podMetadata,
  type Owned,
  podDefaults,
  pullSecrets,
  RESTRICTED_POD,
  ROLLING,
  accountProblems,
  inOrder,
  podsOf,
  type ResolvedConfig,
} from './owned.ts';
import { patchTemplate } from './pod-template/patch.ts';
import type { JsonObject } from '../../gateway/contract/json.ts';

const SIZE: Size = { cpu: '100m', memory: '192Mi', limit: '768Mi', heapMi: 576 };

/** Renders all objects of one VirtualMCPServer. */
export function renderVirtualMCPServer(
  vmcp: VirtualMCPServer,
  resolved: ResolvedConfig,
  owner: OwnerReference,
  options: RenderOptions,
): Rendered {
  const { config, mounts } = resolved;
  const { name } = vmcp.metadata;
  const { serviceType, sessionAffinity, resourceOverrides, route } = vmcp.spec;
  const { labels = {}, annotations = {}, ...balancer } = resourceOverrides?.service ?? {};
  const replicas = podsOf(vmcp.spec.replicas, resolved);
  const owned = ownedBy('VirtualMCPServer', vmcp.metadata, owner);
  const names = { workload: `vmcp-${name}`, config: `${name}-vmcp-config`, backends: `${name}-vmcp-backends` };
  const start = startDocument(vmcp, config, names.backends);
  const files = egressFiles(options);
  const checksum = { [CHECKSUM_ANNOTATION]: documentChecksum(start, files) };
  const template = podTemplate(vmcp, mounts, owned, options, { configMap: names.config, annotations: checksum });
  const kept = { selector: owned.selector, annotations: checksum, containers: [GATEWAY_CONTAINER] };
  const patched = patchTemplate(template, vmcp.spec.podTemplateSpec, kept, owned.object);
  if ('problems' in patched) return patched;
  const problems = accountProblems(owned, vmcp.spec, template, patched.template, options);
  if (problems.length > 0) return { problems };
  return inOrder([
    ...account(vmcp, owned, names.backends, options),
    documentConfigMap(owned, names.config, { key: CONFIG_KEY, document: start, files }),
    documentConfigMap(owned, names.backends, { key: DISCOVERED_BACKENDS_KEY, document: backendsDocument(config) }),
    ownedObject(owned, RESOURCES.Deployment, names.workload, {
      spec: {
        ...(replicas !== undefined && { replicas }),
        selector: { matchLabels: owned.selector },
        strategy: ROLLING,
        template: patched.template,
      },
    }),
    service(
      owned,
      names.workload,
      { type: serviceType, sessionAffinity, port: PUBLIC_PORT, balancer },
      { labels, annotations },
    ),
    ...(route && options.httpRoutes === true
      ? [httpRoute(owned, { name: names.workload, port: PUBLIC_PORT }, route, config)]
      : []),
    ...podDisruptionBudget(owned, names.workload, replicas, options),
    ...gatewayNetworkPolicy(owned, names.workload, options),
  ]);
}

const accountOf = ({ metadata: { name }, spec }: VirtualMCPServer): string => spec.serviceAccount ?? `${name}-vmcp`;

/** Renders the ServiceAccount and its Role, unless the user names an existing account, which needs the rights itself. */
function account(vmcp: VirtualMCPServer, owned: Owned, backends: string, options: RenderOptions): KubeObject[] {
  if (vmcp.spec.serviceAccount !== undefined) return [];
  const name = accountOf(vmcp);
  return [
    serviceAccount(owned, name, pullSecrets(vmcp.spec.imagePullSecrets, options.imagePullSecrets), options),
    ...roleFor(owned, name, name, gatewayRules(vmcp.metadata.name, backends)),
  ];
}

function podTemplate(
  vmcp: VirtualMCPServer,
  mounts: readonly Mount[],
  owned: Owned,
  options: RenderOptions,
  { configMap, annotations }: { readonly configMap: string; readonly annotations: Readonly<Record<string, string>> },
): JsonObject {
  const gateway = gatewayPart(owned, options, { configMap, size: SIZE, volumes: mountedFiles(mounts) });
  return {
    metadata: podMetadata(owned, annotations),
    spec: {
      ...podDefaults(owned, pullSecrets(vmcp.spec.imagePullSecrets, options.imagePullSecrets)),
      automountServiceAccountToken: true,
      containers: [gateway.container],
      securityContext: { ...RESTRICTED_POD, ...gatewayUserAndFiles(options) },
      serviceAccountName: accountOf(vmcp),
      terminationGracePeriodSeconds: GRACE_S,
      volumes: gateway.volumes,
    },
  };
}
