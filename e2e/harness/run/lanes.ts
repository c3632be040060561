/** One run of tests. */
export interface Run {
  /** Names its report. */
  readonly name: string;
  /** `cluster` starts a cluster, runs vitest on it and deletes it: e2e/cluster/main.ts. */
  readonly program: 'vitest' | 'cluster';
  readonly args: readonly string[];
}

interface Beside {
  readonly project: string;
  readonly workers: number;
}

/**
 * Projects of the lanes beside the first, in their order, and their workers. `operator` waits for a control plane, and
 * `cluster` for the pods of a node, whose programs may still be built: it comes last. `e2e-beside` makes the lanes equally
 * long. The files of the last lane mostly wait: for leases (a fifth of a core), or for intervals and timeouts. Six files run at
 * a time: with five a tenth of two cores was idle, and with seven tests with short time limits failed.
 */
const BESIDE: readonly (readonly Beside[])[] = [
  [
    { project: 'operator', workers: 2 },
    { project: 'e2e-beside', workers: 2 },
    { project: 'cluster', workers: 1 },
  ],
  [
    { project: 'operator-waiting', workers: 2 },
    { project: 'e2e-waiting', workers: 2 },
  ],
];

const flags = (projects: readonly string[]): string[] => projects.flatMap((project) => ['--project', project]);

function runBeside({ project, workers }: Beside, filters: readonly string[]): Run {
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
  const beside = BESIDE.map((lane) => lane.filter(({ project }) => projects.includes(project)));
  const main = projects.filter((name) => !beside.flat().some(({ project }) => project === name));
  const first: Run = { name: 'main', program: 'vitest', args: [...flags(main), ...filters] };
  const others = beside.map((lane) => lane.map((each) => runBeside(each, filters)));
  return [main.length > 0 ? [first] : [], ...others].filter((lane) => lane.length > 0);
}
