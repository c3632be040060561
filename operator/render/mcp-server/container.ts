import { SERVER_CONTAINER } from '../../resolve/own-gateway/pod-backend.ts';
import type { MCPServer } from '../../resolve/snapshot.ts';
import type { NamedObject } from '../named-object.ts';
import { RESTRICTED_CONTAINER } from '../pod.ts';
import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';

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
export function withRequests(template: JsonObject): JsonObject {
  const { spec } = template;
  if (!isObject(spec) || 'resources' in spec || !Array.isArray(spec['containers'])) return template;
  const containers = spec['containers'].map((container: unknown) =>
    isObject(container) && container['name'] === SERVER_CONTAINER
      ? { resources: { requests: DEFAULT_REQUESTS }, ...container }
      : container,
  );
  return { ...template, spec: { ...spec, containers } };
}

/** Keeps the order of the resource, since variables can refer to earlier ones. Of two equal names the last one applies. */
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
