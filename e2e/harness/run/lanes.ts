/** One run of tests. */
export interface Run {
  /** Names its report. */
  readonly name: string;
  /** `cluster` starts a cluster, runs vitest on it and deletes it: e2e/cluster/main.ts. */
  readonly program: 'vitest' | 'cluster';
  readonly args: readonly string[];
}

/**
 * Projects of the second lane, in their order. Both mostly wait: for the API server, and for the pods of a node. With more than
 * the three files of the first lane and one file of this lane at a time, two cores are so busy that time limits of the product pass.
 */
const BESIDE = ['operator', 'cluster'];

const flags = (projects: readonly string[]): string[] => projects.flatMap((project) => ['--project', project]);

function runBeside(project: string, filters: readonly string[]): Run {
  if (project === 'cluster') return { name: project, program: project, args: filters };
  return { name: project, program: 'vitest', args: [...flags([project]), ...filters] };
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
  const beside = BESIDE.filter((name) => projects.includes(name));
  const main = projects.filter((name) => !beside.includes(name));
  const first: Run = { name: 'main', program: 'vitest', args: [...flags(main), ...filters] };
  const others = beside.map((project) => runBeside(project, filters));
  return [main.length > 0 ? [first] : [], others].filter((lane) => lane.length > 0);
}
