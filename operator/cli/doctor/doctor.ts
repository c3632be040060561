import { access, constants, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { jsonText } from '../../../gateway/contract/text/printable.ts';
import { isInstalled } from '../../../gateway/workloads/runner/launcher.ts';
import { isPortFree } from '../../../gateway/workloads/runner/ports.ts';
import { readRunning, defaultStateDir } from '../../local/state.ts';
import { errorCode } from '../../../gateway/config-files.ts';
import { httpGet } from '../online/probes.ts';
import { imageSubject, providerSubjects } from '../online/provider-subjects.ts';
import { readManagement } from '../status/gateway-status.ts';
import type { Snapshot } from '../../resolve/snapshot.ts';
import { PROJECT_ROOT } from '../version.ts';
import { renderTable } from '../table.ts';
import { examine, locateProblems, type Examination } from '../validate/examine.ts';
import { formatProblems } from '../validate/problems-output.ts';
import { type LocalServer, type Machine, type Check, programsOf } from './check.ts';
import {
  clock,
  containerEngine,
  locale,
  nodeVersion,
  npmCheck,
  managementPort,
  mcpPort,
  python,
  stateFolder,
} from './machine.ts';
import { issuers, servers, toolsCheck } from './resources.ts';
import { EXIT } from '../exit.ts';

export interface DoctorFlags {
  readonly state?: string;
  readonly output?: 'json';
}

/** `vmcp doctor [PATH...]`: exits with 0, 1 when a check fails, or 2 for invalid files. */
export async function doctor(paths: readonly string[], flags: DoctorFlags): Promise<number> {
  const stateDir = resolve(flags.state ?? defaultStateDir(process.env));
  const seen = paths.length > 0 ? await examine(paths, { hostEnv: process.env }, stateDir) : undefined;
  const problems = seen?.problems ?? [];
  process.stderr.write(formatProblems(problems, []));
  const machine = { ...thisMachine(stateDir), ...(seen && factsOf(seen)) };
  const findings = await Promise.all(
    CHECKS.map(async (check) => ({ name: check.name, ...(await check.run(machine)) })),
  );
  const rows = findings.map(({ name, state, message }) => [state, name, message]);
  const text = flags.output === 'json' ? jsonText({ checks: findings }, 2) : renderTable(rows).join('\n');
  process.stdout.write(`${text}\n`);
  if (findings.some(({ state }) => state === 'fail')) return EXIT.failed;
  return problems.length > 0 ? EXIT.invalid : EXIT.done;
}

const factsOf = ({ manifests, servers }: Examination): Pick<Machine, 'providers' | 'servers' | 'placeOf'> => ({
  servers: [...manifests.snapshots.values()].flatMap((snapshot) => localServers(snapshot, servers)),
  providers: [...manifests.snapshots.values()].flatMap(providerSubjects),
  placeOf: (problem) =>
    locateProblems(manifests, [problem])
      .map(({ file, line, kind, name, path }) => `${file}:${String(line)}: ${kind}/${name}: ${path}`)
      .join(''),
});

/** Lists the servers of a namespace that run on this machine, with the settings of a virtual server that serves them. */
const localServers = ({ namespace, servers }: Snapshot, resolved: Examination['servers']): LocalServer[] =>
  [...servers.values()].map(({ kind, metadata: { name }, spec: { image } }) => {
    const subject = imageSubject(image);
    const backends = resolved.flatMap((server) =>
      server.namespace === namespace ? (server.config?.vmcp.backends ?? []) : [],
    );
    const settings = backends.find((backend) => backend.name === name)?.process;
    return { object: { kind, namespace, name }, process: settings ?? { image }, ...(subject && { subject }) };
  });

const thisMachine = (stateDir: string): Machine => ({
  nodeVersion: process.versions.node,
  env: process.env,
  stateDir,
  running: readRunning(stateDir),
  providers: [],
  servers: [],
  isInstalled: (server) => isInstalled(server, { stateDir, projectRoot: PROJECT_ROOT, hostEnv: process.env }),
  placeOf: ({ path }) => path,
  ...programsOf(process.env),
  isPortFree: (port) => isPortFree(port),
  writeFault,
  get: httpGet,
  serversAt: readManagement,
  now: Date.now,
});

/** Checks the folder, or the nearest one above it that exists. Creates nothing. */
async function writeFault(dir: string): Promise<string | undefined> {
  try {
    await access(dir, constants.W_OK | constants.X_OK);
    return (await stat(dir)).isDirectory() ? undefined : 'ENOTDIR';
  } catch (error) {
    const code = errorCode(error);
    return code === 'ENOENT' && dirname(dir) !== dir ? writeFault(dirname(dir)) : code;
  }
}

/** Checks in the order in which they are printed. A new check is defined in `machine.ts` or `resources.ts` and listed here. */
export const CHECKS: readonly Check[] = [
  nodeVersion,
  npmCheck,
  python,
  containerEngine,
  servers,
  mcpPort,
  managementPort,
  stateFolder,
  issuers,
  clock,
  locale,
  toolsCheck,
];
