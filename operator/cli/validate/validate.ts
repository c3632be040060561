import { jsonText } from '../../../gateway/contract/text/printable.ts';
import { API_GROUP } from '../../../gateway/contract/api-group.ts';
import { objectsOf } from '../../resolve/snapshot.ts';
import { examineOnline } from '../online/examine-online.ts';
import { namedSubjects } from '../online/provider-subjects.ts';
import type { LoadOptions } from '../../source/files/load.ts';
import { httpGet } from '../online/probes.ts';
import { examine, locateProblems, type Examination } from './examine.ts';
import { count, formatProblems, inFileOrder, summarize, type Io } from './problems-output.ts';
import { EXIT } from '../exit.ts';

export interface ValidateOptions extends LoadOptions {
  /** Prints one JSON document instead of lines. */
  readonly output?: 'json';
  /** Checks that packages, images, URLs and issuers exist. */
  readonly online?: boolean;
  /** Checks the files like a cluster. */
  readonly cluster?: boolean;
}

/** Any folder: rendered paths are not printed. */
const NO_STATE = '/';

/** `vmcp validate PATH...`: prints problems on stdout and warnings on stderr; exits with 0 without problems, else 2. */
export async function validate(
  paths: readonly string[],
  { output, online, cluster = false, ...options }: ValidateOptions,
  io: Io,
): Promise<number> {
  const offline = cluster ? await inCluster(paths) : await examine(paths, options, NO_STATE);
  const examination = online === true ? await withOnlineProblems(offline) : offline;
  if (output === 'json') io.stdout.write(toJson(examination));
  else printLines(examination, cluster, io);
  return examination.problems.length > 0 ? EXIT.invalid : EXIT.done;
}

/** Loads the operator's code only when it is needed. */
async function inCluster(paths: readonly string[]): Promise<Examination> {
  const { examineForCluster } = await import('./examine-cluster.ts');
  return examineForCluster(paths);
}

async function withOnlineProblems(examination: Examination): Promise<Examination> {
  const { manifests } = examination;
  const subjects = namedSubjects(manifests.snapshots.values());
  const { problems, warnings } = await examineOnline(subjects, { get: httpGet, env: process.env });
  return {
    ...examination,
    problems: [...examination.problems, ...locateProblems(manifests, problems)],
    warnings: [...examination.warnings, ...locateProblems(manifests, warnings)],
  };
}

const backendCount = ({ servers }: Examination): number =>
  servers.reduce((sum, { config }) => sum + (config?.vmcp.backends.length ?? 0), 0);

function printLines(examination: Examination, cluster: boolean, io: Io): void {
  const { servers, problems, warnings } = examination;
  io.stdout.write(formatProblems(problems, []));
  io.stderr.write(formatProblems([], warnings));
  if (problems.length > 0) {
    io.stderr.write(`${summarize(problems, warnings)}\n`);
    return;
  }
  const backends = count(backendCount(examination), 'backend');
  io.stdout.write(`ok: ${count(servers.length, 'VirtualMCPServer')}, ${backends}\n`);
  if (cluster) io.stderr.write(reachOf(examination));
  else if (servers.length === 0) io.stderr.write('there is no VirtualMCPServer: vmcp up would start nothing\n');
  if (warnings.length > 0) io.stderr.write(`${count(warnings.length, 'warning')}\n`);
}

function toJson(examination: Examination): string {
  const { servers, problems, warnings } = examination;
  const document = {
    valid: problems.length === 0,
    virtualMCPServers: servers.length,
    backends: backendCount(examination),
    problems: inFileOrder(problems),
    warnings: inFileOrder(warnings),
  };
  return `${jsonText(document, 2)}\n`;
}

/** Says how many objects were checked, so that a run without any does not look like a success. */
function reachOf({ manifests }: Examination): string {
  const { objects, snapshots } = manifests;
  const checked = [...snapshots.values()].flatMap((snapshot) => objectsOf(snapshot)).length;
  return `checked ${count(checked, 'resource')} of ${API_GROUP} in ${count(objects.length, 'object')}\n`;
}
