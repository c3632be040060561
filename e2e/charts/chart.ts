import { resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { attempt, type Ended } from '../cluster/harness/command.ts';
import { clusterBinary } from '../harness/control-plane/binaries.ts';
import { root } from '../harness/vmcp.ts';

/** The parts of a rendered object that these tests read. */
export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly rules?: readonly Rule[];
  readonly subjects?: readonly { readonly name: string; readonly namespace: string }[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly spec?: unknown;
}

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

export const helm = clusterBinary('helm');
/** Returns the folder of a chart of the repository, or the absolute path itself. */
export const chartFolder = (chart: string): string => resolve(root, 'charts', chart);

const VERSION_OF_THE_CLUSTER = '1.36.0';

/** Cluster that helm renders for. */
interface Target {
  readonly kubeVersion?: string;
  /** Versions that the API server serves beside those of Kubernetes. */
  readonly apiVersions?: readonly string[];
}

/** Runs `helm template` for the namespace `vmcp-system`, with values such as `operator.port=9000`. */
export function template(
  chart: string,
  values: readonly string[] = [],
  { kubeVersion = VERSION_OF_THE_CLUSTER, apiVersions = [] }: Target = {},
  release = 'vmcp',
): Promise<Ended> {
  return attempt(helm ?? 'helm', [
    'template',
    release,
    chartFolder(chart),
    '--namespace',
    'vmcp-system',
    '--kube-version',
    kubeVersion,
    ...apiVersions.flatMap((version) => ['--api-versions', version]),
    ...values.flatMap((value) => ['--set', value]),
  ]);
}

/** Renders the objects of a chart. @throws Error when helm fails or writes invalid YAML */
export async function render(chart: string, values: readonly string[] = [], release?: string): Promise<Rendered[]> {
  const { code, stdout, stderr } = await template(chart, values, undefined, release);
  if (code !== 0) throw new Error(stderr);
  return parseObjects(stdout);
}

/** Parses the output of `helm template`. @throws Error when it is invalid YAML */
export function parseObjects(output: string): Rendered[] {
  // YAML 1.1, like helm and kubectl: `no` and `1e3` are not strings.
  return parseAllDocuments(output, { version: '1.1' }).flatMap((document) => {
    if ('errors' in document && document.errors.length > 0) throw document.errors[0] ?? new Error(output);
    const object = document.toJS() as Rendered | null;
    return object === null ? [] : [object];
  });
}

/** Returns `Kind namespace/name` of each object, sorted. */
export const namesOf = (objects: readonly Rendered[]): string[] =>
  objects.map(({ kind, metadata: { namespace = '', name } }) => `${kind} ${namespace}/${name}`).toSorted();
