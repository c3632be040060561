import { replicasOf } from '../replicas.ts';
import type { MCPServer, Snapshot, VirtualMCPServer } from '../snapshot.ts';
import { authenticatesClients } from '../fields/controls.ts';

type Spec = VirtualMCPServer['spec'];

/** Longer than the timeout of a client or of the gateway in front, which times out first and reports it. */
const TIMEOUT = '1h';

/** Name in the keys of stores. No VirtualMCPServer has a name with a dot. */
export const storeNameOf = ({ metadata: { name } }: MCPServer): string => `server.${name}`;

/** Returns the VirtualMCPServer with this single backend that has the same controls. It passes names on unchanged. */
export function virtualServerOf(server: MCPServer, { externalAuthConfigs }: Snapshot): VirtualMCPServer {
  const { apiVersion, metadata, spec } = server;
  const { groupRef, authServerRef, telemetryConfigRef, webhookConfigRef, endpointPrefix } = spec;
  const authServerConfig = authServerRef && externalAuthConfigs.get(authServerRef.name)?.spec.embeddedAuthServer;
  return {
    apiVersion,
    kind: 'VirtualMCPServer',
    metadata,
    spec: {
      groupRef: groupRef ?? { name: metadata.name },
      incomingAuth: incomingAuth(server),
      ...(authServerConfig && { authServerConfig }),
      config: config(server),
      ...(endpointPrefix && { endpointPrefix }),
      ...sessions(server),
      ...(telemetryConfigRef && { telemetryConfigRef }),
      ...(webhookConfigRef && { webhookConfigRef }),
    },
  };
}

function incomingAuth(server: MCPServer): Spec['incomingAuth'] {
  const { oidcConfigRef, authzConfig, authzConfigRef } = server.spec;
  return {
    type: authenticatesClients(server) ? 'oidc' : 'anonymous',
    ...(oidcConfigRef && { oidcConfigRef }),
    ...(authzConfig && { authzConfig }),
    ...(authzConfigRef && { authzConfigRef }),
  };
}

const config = ({ spec: { audit, rateLimiting } }: MCPServer): NonNullable<Spec['config']> => ({
  aggregation: { conflictResolution: 'none' },
  operational: { timeouts: { default: TIMEOUT } },
  ...(audit && { audit }),
  ...(rateLimiting && { rateLimiting }),
});

/** Returns the storage, the affinity and the number of pods. A stdio server has at most one. */
function sessions({ spec }: MCPServer): Pick<Spec, 'sessionAffinity' | 'sessionStorage' | 'replicas'> {
  const { transport = 'stdio', sessionAffinity, sessionStorage: storage } = spec;
  const replicas = transport === 'stdio' ? 1 : replicasOf(spec);
  return {
    ...(replicas !== undefined && { replicas }),
    ...(sessionAffinity && { sessionAffinity }),
    ...(storage && { sessionStorage: storage }),
  };
}
