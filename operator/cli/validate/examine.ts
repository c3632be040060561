import { configFiles } from '../../../gateway/contract/gateway-config-files.ts';
import { imageScheme } from '../../resolve/backends/images.ts';
import { CONSEQUENCE_REASON, type ObjectProblem } from '../../resolve/problems.ts';
import { unusedObjects } from '../../resolve/unused.ts';
import { resolveAll, type ResolvedServer } from '../../resolve/resolve-all.ts';
import type { Platform } from '../../resolve/scope.ts';
import { loadManifests, type LoadOptions, type Manifests } from '../../source/files/load.ts';
import type { LocatedProblem } from '../../source/files/located.ts';
import { unreadableFiles } from '../files/unreadable-files.ts';
import { unusableSecrets } from '../files/unusable-secrets.ts';

/** What some files hold, what each VirtualMCPServer in them becomes, and everything that is wrong. */
export interface Examination {
  readonly manifests: Manifests;
  readonly servers: readonly ResolvedServer[];
  /** Every mistake once, wherever it was found. */
  readonly problems: readonly LocatedProblem[];
  readonly warnings: readonly LocatedProblem[];
}

/** Facts for local mode: secrets and bundles stand below the state folder, per namespace. */
function localPlatform(stateDir: string, containerEngine?: boolean): (namespace: string) => Platform {
  return (namespace) => ({
    mode: 'local',
    secretsDir: `${stateDir}/secrets/${namespace}`,
    configMapsDir: `${stateDir}/configmaps/${namespace}`,
    ...(containerEngine !== undefined && { containerEngine }),
  });
}

export interface ExamineOptions extends LoadOptions {
  /** Whether docker or podman answers; asked only when a container image is to be run. */
  readonly engineAnswers?: () => Promise<boolean>;
  /** Whether this machine is the one to run on, so that files which resources name by their path must be here. */
  readonly filesAreHere?: boolean;
}

/** Reads and resolves for local mode; never throws for what stands in the files. */
export async function examine(
  paths: readonly string[],
  { engineAnswers, filesAreHere, ...options }: ExamineOptions,
  stateDir: string,
): Promise<Examination> {
  const manifests = await loadManifests(paths, options);
  const containerEngine = engineAnswers && runsContainers(manifests) ? await engineAnswers() : undefined;
  const { servers: resolved, unused } = resolveAll(manifests, localPlatform(stateDir, containerEngine));
  const checked = await Promise.all(resolved.map((server) => withItsSecrets(server, manifests)));
  const servers = filesAreHere === true ? await Promise.all(checked.map(withItsFiles)) : checked;
  const found = [...servers.flatMap(({ problems }) => problems), ...unused];
  const located = locateProblems(
    manifests,
    found.filter(({ reason }) => reason !== CONSEQUENCE_REASON),
  );
  const warnings = locateProblems(manifests, [...servers.flatMap((server) => server.warnings), ...unusedIn(manifests)]);
  return {
    manifests,
    servers,
    problems: distinctLines([...manifests.problems, ...located]),
    warnings: distinctLines(warnings),
  };
}

/** Objects of the files that nothing uses. A refused object may be what uses them: then nothing is said. */
function unusedIn(manifests: Manifests): ObjectProblem[] {
  if (manifests.problems.length > 0) return [];
  return [...manifests.snapshots.values()]
    .flatMap(unusedObjects)
    .filter((object) => manifests.locate(object, object.path) !== undefined);
}

/** A server does not start with a key that it would have to refuse. */
async function withItsSecrets(server: ResolvedServer, manifests: Manifests): Promise<ResolvedServer> {
  const { config: _, namespace, name, ...rest } = server;
  const vmcp = manifests.snapshots.get(namespace)?.vmcps.get(name);
  if (!vmcp) return server;
  const object = { kind: vmcp.kind, namespace, name };
  const unusable = await unusableSecrets(vmcp, object, manifests.secretValues);
  if (unusable.length === 0) return server;
  return { ...rest, namespace, name, problems: [...server.problems, ...unusable] };
}

/** A server that names a file by its path which is not there does not start. */
async function withItsFiles(server: ResolvedServer): Promise<ResolvedServer> {
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

/** Adds to each problem where it stands. */
export function locateProblems(
  manifests: Pick<Manifests, 'locate' | 'files'>,
  problems: readonly ObjectProblem[],
): LocatedProblem[] {
  const unknown = { file: manifests.files[0] ?? '-', line: 1, column: 1 };
  return problems.map((problem) => ({ ...problem, ...(manifests.locate(problem, problem.path) ?? unknown) }));
}

/** Servers that share a backend find the same mistake in it. */
function distinctLines(problems: readonly LocatedProblem[]): LocatedProblem[] {
  return [...new Map(problems.map((problem) => [JSON.stringify(problem), problem])).values()];
}
