import { API_GROUP } from '../../gateway/contract/api-group.ts';
import type { ObjectProblem, ObjectRef } from '../resolve/scope.ts';
import type { MCPServer } from '../resolve/snapshot.ts';
import {
  type NamedObject,
  type Additions,
  podMetadata,
  type Owned,
  accountProblems,
  podDefaults,
  pullSecrets,
  RESTRICTED_POD,
  RESTRICTED_CONTAINER,
} from './owned.ts';
import type { RenderOptions } from './options.ts';
import { patchTemplate } from './pod-template/patch.ts';
import { type JsonObject, isObject } from '../../gateway/contract/json.ts';
import { metadataFaults } from '../../crds/kinds/schema/metadata-syntax.ts';
import { pathText } from '../../crds/kinds/schema/object-path.ts';
import type { TemplateFault } from './pod-template/check.ts';
import { isLabel, resourceFaults } from './pod-template/consistency.ts';
import { SERVER_CONTAINER } from '../resolve/own-gateway.ts';

/** Annotation of an MCPServer with an RFC 3339 time. Changing it replaces the pods. */
const RESTART_REQUEST = `mcpserver.${API_GROUP}/restarted-at`;
const RESTARTED = `${API_GROUP}/restarted-at`;

/** Returns the name of the server's ServiceAccount. */
export const serverAccount = ({ metadata: { name }, spec }: MCPServer): string => spec.serviceAccount ?? `${name}-mcp`;

export const serverPullSecrets = ({ spec }: MCPServer, { imagePullSecrets }: RenderOptions) =>
  pullSecrets(spec.resourceOverrides?.proxyDeployment?.imagePullSecrets, imagePullSecrets);

/** Returns the user's labels and annotations for the Deployment or StatefulSet. */
export const workloadAdditions = ({ spec }: MCPServer): Additions => {
  const { labels = {}, annotations = {} } = spec.resourceOverrides?.proxyDeployment ?? {};
  return { labels, annotations };
};

/** Parts of the pod that depend on the transport. */
export interface Parts {
  readonly containers: readonly NamedObject[];
  readonly volumes: readonly JsonObject[];
  readonly members?: JsonObject;
  /** Annotations that the operator sets. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Renders the server's pod template and applies the user's patch. */
export function serverTemplate(
  server: MCPServer,
  owned: Owned,
  options: RenderOptions,
  { containers, volumes, members = {}, annotations = {} }: Parts,
): { readonly template: JsonObject } | { readonly problems: ObjectProblem[] } {
  const restarted = server.metadata.annotations?.[RESTART_REQUEST];
  const ours = { ...annotations, ...(restarted !== undefined && { [RESTARTED]: restarted }) };
  const template = {
    metadata: podMetadata(owned, ours, server.spec.resourceOverrides?.proxyDeployment?.podTemplateMetadataOverrides),
    spec: {
      ...podDefaults(owned, serverPullSecrets(server, options)),
      // With an account of the user the server needs its token.
      ...(server.spec.serviceAccount === undefined && { automountServiceAccountToken: false }),
      containers,
      securityContext: RESTRICTED_POD,
      serviceAccountName: serverAccount(server),
      ...(volumes.length > 0 && { volumes }),
      ...members,
    },
  };
  const kept = { selector: owned.selector, annotations: ours, containers: containers.map(({ name }) => name) };
  const patched = patchTemplate(template, server.spec.podTemplateSpec, kept, owned.object);
  if ('problems' in patched) return patched;
  const problems = accountProblems(owned, server.spec, template, patched.template, options);
  return problems.length > 0 ? { problems } : { template: withRequests(patched.template) };
}

/** Lists fields of a server that its schema accepts and that no pod or Service can have. */
export function podFieldProblems({ spec }: MCPServer, object: ObjectRef): ObjectProblem[] {
  const { resources, volumes = [], resourceOverrides: { proxyDeployment, proxyService } = {} } = spec;
  const deployment = ['spec', 'resourceOverrides', 'proxyDeployment'];
  const template = proxyDeployment?.podTemplateMetadataOverrides;
  const faults: TemplateFault[] = [
    ...resourceFaults(resources, ['spec', 'resources']),
    ...volumes.flatMap(({ name }, index) =>
      isLabel(name)
        ? []
        : [{ steps: ['spec', 'volumes', index, 'name'], message: 'must be lowercase letters, digits and hyphens' }],
    ),
    ...metadataFaults(proxyDeployment, deployment),
    ...metadataFaults(template, [...deployment, 'podTemplateMetadataOverrides']),
    ...metadataFaults(proxyService, ['spec', 'resourceOverrides', 'proxyService']),
  ];
  return faults.map(({ steps, message }) => ({ ...object, path: pathText(steps), reason: 'InvalidValue', message }));
}

type Spec = MCPServer['spec'];

/** Renders the parts of the server's container that do not depend on the transport. */
export function serverContainer(spec: Spec): NamedObject {
  const { image, args, volumes = [], resources } = spec;
  const env = environmentOf(spec);
  return {
    name: SERVER_CONTAINER,
    image,
    ...(args && args.length > 0 && { args }),
    ...(env.length > 0 && { env }),
    ...(resources && { resources }),
    securityContext: RESTRICTED_CONTAINER,
    ...(volumes.length > 0 && {
      volumeMounts: volumes.map(({ name, mountPath, readOnly }) => ({ mountPath, name, readOnly: readOnly === true })),
    }),
  };
}

/**
 * Requests of a server whose resources the user does not set: the scheduler counts its pods, and the kubelet evicts pods without
 * requests first. Without a limit a server that needs more still runs.
 */
const DEFAULT_REQUESTS = { cpu: '10m', memory: '64Mi' };

/** Adds the requests to the patched pod template unless the MCPServer, or the patch for the container or the pod, has `resources`. */
function withRequests(template: JsonObject): JsonObject {
  const { spec } = template;
  if (!isObject(spec) || 'resources' in spec || !Array.isArray(spec['containers'])) return template;
  const containers = spec['containers'].map((container: unknown) =>
    isObject(container) && container['name'] === SERVER_CONTAINER
      ? { resources: { requests: DEFAULT_REQUESTS }, ...container }
      : container,
  );
  return { ...template, spec: { ...spec, containers } };
}

/** Keeps the order of the resource, since variables can refer to earlier variables. Of two equal names the last applies. */
function environmentOf({ env = [], secrets = [], resourceOverrides }: Spec): JsonObject[] {
  const all: readonly NamedObject[] = [
    ...env,
    ...secrets.map(({ name: secret, key, targetEnvName }) => ({
      name: targetEnvName ?? key,
      valueFrom: { secretKeyRef: { key, name: secret } },
    })),
    ...(resourceOverrides?.proxyDeployment?.env ?? []),
  ];
  return [...new Map(all.map((variable) => [variable.name, variable])).values()];
}

export const serverVolumes = ({ volumes = [] }: Spec): JsonObject[] =>
  volumes.map(({ name, hostPath }) => ({ hostPath: { path: hostPath }, name }));
