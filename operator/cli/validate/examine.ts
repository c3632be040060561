import { configFiles } from '../../../gateway/contract/gateway-config-files.ts';
import { imageScheme } from '../../resolve/backends/server-backend.ts';
import { CONSEQUENCE_REASON, type ObjectProblem, refKey, type Platform } from '../../resolve/scope.ts';
import { unusedObjects } from '../../resolve/references.ts';
import { allProblems, resolveAll, type ResolvedServer } from '../../resolve/resolve-all.ts';
import { loadManifests, type LoadOptions, type Manifests } from '../../source/files/load.ts';
import { groupNameOf } from '../../source/files/manifest-object.ts';
import { type LocatedProblem } from '../../source/files/located.ts';
import { unreadableFiles } from '../../../gateway/config-files.ts';
import { unusableSecrets } from './unusable-secrets.ts';
import { isMemberKind, isOwnKind } from '../../../crds/kinds/roles.ts';
import { isPlainKind } from '../../source/files/validate.ts';

/** Content of the given files, the resolution of each VirtualMCPServer, and all problems and warnings. */
export interface Examination {
  readonly manifests: Manifests;
  readonly servers: readonly ResolvedServer[];
  /** Distinct problems. */
  readonly problems: readonly LocatedProblem[];
  readonly warnings: readonly LocatedProblem[];
}

/** Returns the platform of local mode: secrets and bundles are below the state folder, per namespace. */
function localPlatform(
  stateDir: string,
  facts: Pick<Platform, 'containerEngine' | 'secretsOption'>,
): (namespace: string) => Platform {
  return (namespace) => ({
    mode: 'local',
    secretsDir: `${stateDir}/secrets/${namespace}`,
    configMapsDir: `${stateDir}/configmaps/${namespace}`,
    ...facts,
  });
}

export interface ExamineOptions extends LoadOptions {
  /** Checks whether docker or podman responds. Called only for container images. */
  readonly engineAnswers?: () => Promise<boolean>;
  /** True when the servers run on this machine, so that files named by path must exist here. */
  readonly needsFiles?: boolean;
}

/** Reads and resolves files for local mode. Never throws because of their content. */
export async function examine(
  paths: readonly string[],
  { engineAnswers, needsFiles, ...options }: ExamineOptions,
  stateDir: string,
): Promise<Examination> {
  const manifests = await loadManifests(paths, options);
  const containerEngine = engineAnswers && runsContainers(manifests) ? await engineAnswers() : undefined;
  const platform = localPlatform(stateDir, {
    ...(containerEngine !== undefined && { containerEngine }),
    ...(options.secretsDir !== undefined && { secretsOption: options.secretsDir }),
  });
  const { servers: resolved, unused } = resolveAll(manifests, platform);
  const checked = await Promise.all(resolved.map((server) => checkSecrets(server, manifests)));
  const servers = needsFiles === true ? await Promise.all(checked.map(checkFiles)) : checked;
  const found = [...servers.flatMap(allProblems), ...unused];
  const located = locateProblems(
    manifests,
    found.filter(({ reason }) => reason !== CONSEQUENCE_REASON),
  );
  const problems = distinctLines([...manifests.problems, ...located]);
  const ofServers = withoutEmptyGroups(
    servers.flatMap((server) => server.warnings),
    problems,
    manifests,
  );
  const warnings = locateProblems(manifests, [...ofServers, ...unusedIn(manifests)]);
  return { manifests, servers, problems, warnings: distinctLines([...manifests.warnings, ...warnings]) };
}

/** Lists unused objects of the files. Returns none when an object was rejected, since it may use them. */
function unusedIn(manifests: Manifests): ObjectProblem[] {
  if (manifests.problems.length > 0) return [];
  return [...manifests.snapshots.values()]
    .flatMap(unusedObjects)
    .filter((object) => manifests.locate(object, object.path) !== undefined);
}

/** Adds problems for Secrets with unusable keys. */
export async function checkSecrets(server: ResolvedServer, manifests: Manifests): Promise<ResolvedServer> {
  const { config: _, namespace, name, ...rest } = server;
  const snapshot = manifests.snapshots.get(namespace);
  const vmcp = snapshot?.vmcps.get(name);
  if (!snapshot || !vmcp) return server;
  const { secretValues: values } = manifests;
  const unusable = await unusableSecrets(vmcp, snapshot, { mounts: server.mounts, values });
  if (unusable.length === 0) return server;
  return { ...rest, namespace, name, problems: [...server.problems, ...unusable] };
}

/** Adds problems for missing files that a server names by path. */
async function checkFiles(server: ResolvedServer): Promise<ResolvedServer> {
  const { config, ...rest } = server;
  if (!config) return server;
  const mounted = new Set(server.mounts.map(({ path }) => path));
  const missing = await unreadableFiles(configFiles(config).filter(({ file }) => !mounted.has(file)));
  if (missing.length === 0) return server;
  const { namespace, name } = server;
  const problems = missing.map(({ reason, message }) => ({
    kind: 'VirtualMCPServer',
    namespace,
    name,
    path: 'spec.incomingAuth',
    reason,
    message,
  }));
  return { ...rest, problems: [...server.problems, ...problems] };
}

const runsContainers = ({ snapshots }: Manifests): boolean =>
  [...snapshots.values()].some(({ servers }) =>
    [...servers.values()].some(({ spec }) => imageScheme(spec.image) === 'oci'),
  );

/** Adds the location in the files to each problem. */
export function locateProblems(
  manifests: Pick<Manifests, 'locate' | 'files'>,
  problems: readonly ObjectProblem[],
): LocatedProblem[] {
  const unknown = { file: manifests.files[0] ?? '-', line: 1, column: 1 };
  return problems.map((problem) => ({ ...problem, ...(manifests.locate(problem, problem.path) ?? unknown) }));
}

/** Removes repeated problems, as from servers that share a backend. */
export function distinctLines(problems: readonly LocatedProblem[]): LocatedProblem[] {
  return [...new Map(problems.map((problem) => [JSON.stringify(problem), problem])).values()];
}

/** Reason of the warning about a group without members. */
const GROUP_EMPTY = 'GroupEmpty';

type Read = Pick<Manifests, 'objects' | 'snapshots'>;

/** Removes warnings about groups that may be empty because of one of the problems: a member was rejected, or could not be read. */
export function withoutEmptyGroups<W extends ObjectProblem>(
  warnings: readonly W[],
  problems: readonly ObjectProblem[],
  manifests: Read,
): W[] {
  const taken = problems.map((problem) => groupsOf(problem, manifests));
  return warnings.filter(({ reason, namespace, name }) => {
    if (reason !== GROUP_EMPTY) return true;
    const group = manifests.snapshots.get(namespace)?.vmcps.get(name)?.spec.groupRef.name ?? '';
    return !taken.some((groups) => groups === 'any' || groups.has(`${namespace}/${group}`));
  });
}

/** Returns the groups, as `namespace/name`, that the objects with this problem may belong to. */
function groupsOf(problem: ObjectProblem, { objects, snapshots }: Read): ReadonlySet<string> | 'any' {
  const { kind } = problem;
  if (!isMemberKind(kind)) return isOwnKind(kind) || isPlainKind(kind) ? new Set() : 'any';
  const names = objects.filter((object) => refKey(object) === refKey(problem)).map(groupNameOf);
  const groups = snapshots.get(problem.namespace)?.groups;
  // an absent or unknown group may be the mistake
  const isKnown = names.every((name) => name !== undefined && groups?.has(name) === true);
  return isKnown ? new Set(names.map((name) => `${problem.namespace}/${name ?? ''}`)) : 'any';
}
