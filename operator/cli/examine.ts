import { imageScheme } from '../resolve/images.ts';
import { CONSEQUENCE_REASON, type ObjectProblem } from '../resolve/problems.ts';
import { resolveAll, type ResolvedServer } from '../resolve/resolve-all.ts';
import type { Platform } from '../resolve/scope.ts';
import { loadManifests, type LoadOptions, type Manifests } from '../source/files/load.ts';
import type { LocatedProblem } from '../source/files/located.ts';

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
}

/** Reads and resolves for local mode; never throws for what stands in the files. */
export async function examine(
  paths: readonly string[],
  { engineAnswers, ...options }: ExamineOptions,
  stateDir: string,
): Promise<Examination> {
  const manifests = await loadManifests(paths, options);
  const containerEngine = engineAnswers && runsContainers(manifests) ? await engineAnswers() : undefined;
  const { servers, unused } = resolveAll(manifests, localPlatform(stateDir, containerEngine));
  const found = [...servers.flatMap(({ problems }) => problems), ...unused];
  const located = locateProblems(
    manifests,
    found.filter(({ reason }) => reason !== CONSEQUENCE_REASON),
  );
  const warnings = locateProblems(
    manifests,
    servers.flatMap((server) => server.warnings),
  );
  return {
    manifests,
    servers,
    problems: distinctLines([...manifests.problems, ...located]),
    warnings: distinctLines(warnings),
  };
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
