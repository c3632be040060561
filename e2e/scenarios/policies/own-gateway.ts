import { CLUSTER_PLATFORM, renderMCPServer } from '../../../operator/render/index.ts';
import { checkMCPServer } from '../../../operator/resolve/objects.ts';
import type { Snapshot } from '../../../operator/resolve/snapshot.ts';
import { resolve } from '../../../operator/resolve/vmcp.ts';
import { loadManifests } from '../../../operator/source/files/load.ts';
import type { Scope } from '../../harness/scope.ts';
import { temporaryFolder, writeFiles } from '../../harness/vmcp.ts';

const OPTIONS = {
  gatewayImage: 'gateway:1',
  imagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [],
  openshift: false,
  podDisruptionBudgets: false,
  networkPolicies: false,
};

async function snapshotOf(scope: Scope, manifests: string): Promise<Snapshot> {
  const folder = await temporaryFolder(scope);
  await writeFiles(folder, { 'server.yaml': manifests });
  const { snapshots, problems } = await loadManifests([folder]);
  const snapshot = snapshots.get('default');
  if (!snapshot || problems.length > 0) throw new Error(JSON.stringify(problems));
  return snapshot;
}

/** Returns the configuration of the gateway of the only VirtualMCPServer, with its backends. */
export async function groupGatewayConfig(scope: Scope, manifests: string): Promise<string> {
  const snapshot = await snapshotOf(scope, manifests);
  const [vmcp] = snapshot.vmcps.values();
  if (!vmcp) throw new Error('no virtual server');
  const { config, problems, excluded } = resolve(vmcp, snapshot, CLUSTER_PLATFORM);
  if (!config || excluded.length > 0) throw new Error(JSON.stringify([problems, excluded]));
  return JSON.stringify(config);
}

/** Returns the configuration of the gateway of the only MCPServer, as the operator writes it into the ConfigMap. */
export async function ownGatewayConfig(scope: Scope, manifests: string): Promise<string> {
  const snapshot = await snapshotOf(scope, manifests);
  const [server] = snapshot.servers.values();
  if (!server) throw new Error('no server');
  const { gateway, problems: wrong } = checkMCPServer(server, snapshot, CLUSTER_PLATFORM);
  if (!gateway?.config) throw new Error(`no configuration: ${JSON.stringify(wrong)}`);
  const { name } = server.metadata;
  const owner = { apiVersion: server.apiVersion, kind: server.kind, name, uid: '1', controller: true };
  const rendered = renderMCPServer(server, owner, OPTIONS, { config: gateway.config, mounts: gateway.mounts });
  if ('problems' in rendered) throw new Error(JSON.stringify(rendered.problems));
  const document = rendered.objects.find(({ metadata }) => metadata.name === `mcp-${name}-gateway-config`);
  const { data } = document as unknown as { readonly data: Readonly<Record<string, string>> };
  return data['config.json'] ?? '';
}
