import type { KubeObject } from '../../../gateway/kube/resource.ts';
import { renderServer, renderGateway } from '../../controller/kinds.ts';
import { CLUSTER_PLATFORM, type Rendered, type RenderOptions } from '../../render/index.ts';
import { patchProblems } from '../../render/pod-template/patch.ts';
import { checkMCPServer, checkObject } from '../../resolve/objects.ts';
import { CONSEQUENCE_REASON, type ObjectProblem, type Platform } from '../../resolve/scope.ts';
import { resolveAll, type ResolvedServer } from '../../resolve/resolve-all.ts';
import {
  objectsOf,
  type MCPServer,
  type Snapshot,
  type VirtualMCPServer,
  type Resource,
} from '../../resolve/snapshot.ts';
import { loadManifests, type Manifests } from '../../source/files/load.ts';
import { withoutEmptyGroups, checkSecrets, distinctLines, locateProblems, type Examination } from './examine.ts';
import { isObject } from '../../../gateway/contract/json.ts';
import { occurrences, type FieldPattern } from '../../resolve/fields/field-path.ts';
import { EXPECTED_IN_CLUSTER } from '../../resolve/references.ts';

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

/** Fields that name an object for the pods: the kind, and the member with the name, '' where the value is the name. */
type Field = readonly [pattern: FieldPattern, kind: string, member: string];

const POD = 'spec.podTemplateSpec.spec';
const ofContainers = (list: string): Field[] => [
  [`${POD}.${list}[].envFrom[].secretRef`, 'Secret', 'name'],
  [`${POD}.${list}[].envFrom[].configMapRef`, 'ConfigMap', 'name'],
  [`${POD}.${list}[].env[].valueFrom.secretKeyRef`, 'Secret', 'name'],
  [`${POD}.${list}[].env[].valueFrom.configMapKeyRef`, 'ConfigMap', 'name'],
];

/** Names that the operator passes on to the pods. Kubernetes resolves them when the pods start. */
const FIELDS: readonly Field[] = [
  ['spec.serviceAccount', 'ServiceAccount', ''],
  ['spec.imagePullSecrets[]', 'Secret', 'name'],
  ['spec.resourceOverrides.proxyDeployment.imagePullSecrets[]', 'Secret', 'name'],
  [`${POD}.serviceAccountName`, 'ServiceAccount', ''],
  [`${POD}.imagePullSecrets[]`, 'Secret', 'name'],
  [`${POD}.volumes[].secret`, 'Secret', 'secretName'],
  [`${POD}.volumes[].configMap`, 'ConfigMap', 'name'],
  [`${POD}.volumes[].projected.sources[].secret`, 'Secret', 'name'],
  [`${POD}.volumes[].projected.sources[].configMap`, 'ConfigMap', 'name'],
  [`${POD}.volumes[].persistentVolumeClaim`, 'PersistentVolumeClaim', 'claimName'],
  ...ofContainers('containers'),
  ...ofContainers('initContainers'),
];

/** Warns about objects that pods need and that are not in the files. Nothing offline knows if a cluster has them. */
function expectedObjects({ snapshots, objects }: Pick<Manifests, 'snapshots' | 'objects'>): ObjectProblem[] {
  const present = new Set(objects.map(({ kind, namespace, name }) => `${kind}/${namespace}/${name}`));
  return [...snapshots.values()].flatMap((snapshot) =>
    objectsOf(snapshot).flatMap((object) => {
      const { kind, metadata } = object;
      const owner = { kind, namespace: snapshot.namespace, name: metadata.name };
      return namedBy(object)
        .filter((named) => !present.has(`${named.kind}/${snapshot.namespace}/${named.name}`))
        .map((named) => ({
          ...owner,
          path: named.path,
          reason: EXPECTED_IN_CLUSTER,
          message: `expects ${named.kind} "${named.name}" in namespace ${snapshot.namespace}: it is not in these files`,
        }));
    }),
  );
}

interface Named {
  readonly path: string;
  readonly kind: string;
  readonly name: string;
}

const namedBy = (object: Resource): Named[] =>
  FIELDS.flatMap(([pattern, kind, member]) =>
    occurrences(object, pattern).flatMap(({ path, value }) => {
      const name = member === '' ? value : isObject(value) && value['optional'] !== true ? value[member] : undefined;
      const where = member === '' ? path : `${path}.${member}`;
      return typeof name === 'string' && name !== '' ? [{ path: where, kind, name }] : [];
    }),
  );
