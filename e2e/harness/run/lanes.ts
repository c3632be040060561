/** One run of tests. */
export interface Run {
  /** Names its report. */
  readonly name: string;
  /** `cluster` starts a cluster, runs vitest on it and deletes it: e2e/cluster/main.ts. */
  readonly program: 'vitest' | 'cluster';
  readonly args: readonly string[];
}

/**
 * Projects of the second lane, in their order, and their workers. The first two mostly wait: for a control plane, or for
 * the pods of a node. The last makes both lanes equally long.
 */
const BESIDE = [
  { project: 'operator', workers: 2 },
  { project: 'cluster', workers: 1 },
  { project: 'e2e-beside', workers: 2 },
] as const;

const flags = (projects: readonly string[]): string[] => projects.flatMap((project) => ['--project', project]);

function runBeside({ project, workers }: (typeof BESIDE)[number], filters: readonly string[]): Run {
  if (project === 'cluster') return { name: project, program: project, args: filters };
  const args = [...flags([project]), '--maxWorkers', String(workers), ...filters];
  return { name: project, program: 'vitest', args };
}

/**
 * Splits the arguments of a run into lanes. The runs of a lane follow each other; lanes run at the same time. A single
 * project is one run of vitest.
 */
export function lanesOf(args: readonly string[]): Run[][] {
  const projects = args.filter((_arg, index) => args[index - 1] === '--project');
  const [only = 'all'] = projects;
  if (projects.length < 2) return [[{ name: only, program: 'vitest', args }]];
  const filters = args.filter((arg, index) => arg !== '--project' && args[index - 1] !== '--project');
  const beside = BESIDE.filter(({ project }) => projects.includes(project));
  const main = projects.filter((name) => !beside.some(({ project }) => project === name));
  const first: Run = { name: 'main', program: 'vitest', args: [...flags(main), ...filters] };
  const second = beside.map((each) => runBeside(each, filters));
  return [main.length > 0 ? [first] : [], second].filter((lane) => lane.length > 0);
}
