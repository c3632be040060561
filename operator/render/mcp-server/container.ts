import { SERVER_CONTAINER } from '../../resolve/own-gateway/pod-backend.ts';
import type { MCPServer } from '../../resolve/snapshot.ts';
import type { NamedObject } from '../named-object.ts';
import { RESTRICTED_CONTAINER } from '../pod.ts';
import type { JsonObject } from '../../../gateway/contract/json.ts';

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
