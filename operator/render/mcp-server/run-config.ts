import { SCHEMA_VERSION, type RunConfig } from '../../../gateway/contract/run-config/run-config.ts';
import { plainVariables } from '../../resolve/backends/server-backend.ts';
import { sortKeys } from '../../resolve/config-check.ts';
import type { MCPServer } from '../../resolve/snapshot.ts';
import { listeningPort, transportOf } from '../mcp-server-ports.ts';

type Spec = MCPServer['spec'];

/** Returns the run configuration of an MCPServer for users and for export. It contains the names of Secrets, no values. */
export function runConfigOf({ metadata: { name }, spec }: MCPServer): RunConfig {
  return {
    schema_version: SCHEMA_VERSION,
    name,
    image: spec.image,
    ...addressOf(spec),
    ...processOf(spec),
    ...(spec.groupRef && { group: spec.groupRef.name }),
    ...(spec.permissionProfile?.type === 'builtin' && {
      permission_profile_name_or_path: spec.permissionProfile.name,
    }),
    ...(spec.trustProxyHeaders !== undefined && { trust_proxy_headers: spec.trustProxyHeaders }),
    ...(spec.backendReplicas !== undefined && { scaling_config: { backend_replicas: spec.backendReplicas } }),
    ...(spec.podTemplateSpec && { cluster_pod_template_patch: JSON.stringify(sortKeys(spec.podTemplateSpec)) }),
  };
}

function addressOf(spec: Spec): Partial<RunConfig> {
  const transport = transportOf(spec);
  return {
    transport,
    ...(transport === 'stdio'
      ? spec.proxyMode !== undefined && { proxy_mode: spec.proxyMode }
      : { target_port: listeningPort(spec) }),
    ...(spec.proxyPort !== undefined && { port: spec.proxyPort }),
    ...(spec.endpointPrefix !== undefined && { endpoint_prefix: spec.endpointPrefix }),
  };
}

function processOf({ args, env = [], secrets = [], volumes = [] }: Spec): Partial<RunConfig> {
  return {
    ...(args && { cmd_args: args }),
    ...(env.length > 0 && { env_vars: plainVariables(env) }),
    ...(secrets.length > 0 && {
      secrets: secrets.map(({ name, key, targetEnvName }) => `${name}/${key},target=${targetEnvName ?? key}`),
    }),
    ...(volumes.length > 0 && {
      volumes: volumes.map(
        ({ hostPath, mountPath, readOnly }) => `${hostPath}:${mountPath}${readOnly === true ? ':ro' : ''}`,
      ),
    }),
  };
}
