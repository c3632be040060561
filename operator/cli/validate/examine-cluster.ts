import type { KubeObject } from '../../../gateway/kube/resource.ts';
import { renderServer } from '../../controller/kinds/mcp-server.ts';
import { renderGateway } from '../../controller/kinds/virtual-mcp-server.ts';
import { CLUSTER_PLATFORM, type Rendered, type RenderOptions } from '../../render/index.ts';
import { patchProblems } from '../../render/pod-template/patch.ts';
import { checkMCPServer, checkObject } from '../../resolve/objects.ts';
import { CONSEQUENCE_REASON, type ObjectProblem } from '../../resolve/problems.ts';
import { resolveAll, type ResolvedServer } from '../../resolve/resolve-all.ts';
import type { Platform } from '../../resolve/scope.ts';
import { objectsOf, type MCPServer, type Snapshot, type VirtualMCPServer } from '../../resolve/snapshot.ts';
import { loadManifests } from '../../source/files/load.ts';
import { withoutEmptyGroups } from './empty-groups.ts';
import { checkSecrets, distinctLines, locateProblems, type Examination } from './examine.ts';
import { expectedObjects } from './expected-objects.ts';

/** A cluster has Secrets and ConfigMaps that its repository does not contain. */
const PLATFORM: Platform = { ...CLUSTER_PLATFORM, hasMoreData: true };

/** Settings of an installation. No setting here makes a resource invalid. */
const OPTIONS: RenderOptions = {
  gatewayImage: 'vmcp-gateway',
  imagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [],
  openshift: false,
  podDisruptionBudgets: true,
  networkPolicies: true,
};

/** Reads files for a cluster and checks them like its API server and the operator. Never throws because of their content. */
export async function examineForCluster(paths: readonly string[]): Promise<Examination> {
  const manifests = await loadManifests(paths, { target: 'cluster' });
  const resolved = resolveAll(manifests, PLATFORM).servers;
  const servers = await Promise.all(resolved.map((server) => checkSecrets(server, manifests)));
  const snapshots = [...manifests.snapshots.values()];
  const checks = snapshots.flatMap((snapshot) =>
    objectsOf(snapshot).map((object) => checkObject(object, snapshot, PLATFORM)),
  );
  const found = [
    ...servers.flatMap((server) => server.problems),
    ...checks.flatMap((check) => check.problems),
    ...snapshots.flatMap((snapshot) => renderProblems(snapshot, resolved)),
  ].filter(({ reason }) => reason !== CONSEQUENCE_REASON);
  const problems = distinctLines([...manifests.problems, ...locateProblems(manifests, found)]);
  const ofObjects = checks.flatMap((check) => check.warnings);
  const warnings = [...withoutEmptyGroups(ofObjects, problems, manifests), ...expectedObjects(manifests)];
  return {
    manifests,
    servers,
    problems,
    warnings: distinctLines([...manifests.warnings, ...locateProblems(manifests, warnings)]),
  };
}

/** Lists what the operator finds when it renders the objects of each resource, such as a wrong pod template. */
const renderProblems = (snapshot: Snapshot, resolved: readonly ResolvedServer[]): ObjectProblem[] => [
  ...resolved
    .filter(({ namespace }) => namespace === snapshot.namespace)
    .flatMap((server) => {
      const vmcp = snapshot.vmcps.get(server.name);
      return vmcp
        ? problemsOf(vmcp, renderGateway({ ...inputOf(vmcp), snapshot, servesRoutes: true }, server), snapshot)
        : [];
    }),
  ...[...snapshot.servers.values()].flatMap((server) => {
    const check = checkMCPServer(server, snapshot, PLATFORM);
    return problemsOf(server, renderServer(server, check, inputOf(server)), snapshot);
  }),
];

const inputOf = (
  object: VirtualMCPServer | MCPServer,
): { readonly object: KubeObject; readonly render: RenderOptions } => ({
  object: object as unknown as KubeObject,
  render: OPTIONS,
});

/** Returns the problems of rendering. Without a rendering, other problems prevent it: the patch is checked alone. */
function problemsOf(
  { kind, metadata: { name }, spec }: VirtualMCPServer | MCPServer,
  rendered: Rendered | undefined,
  { namespace }: Snapshot,
): readonly ObjectProblem[] {
  if (!rendered) return patchProblems(spec.podTemplateSpec, { kind, namespace, name });
  return 'problems' in rendered ? rendered.problems : [];
}
