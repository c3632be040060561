import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Scope } from '../harness/scope.ts';
import { root, temporaryFolder } from '../harness/vmcp.ts';

const RUNNER = join(root, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js');
const SCENARIO_TIMEOUT_MS = 15_000;

/** One verdict of the runner. */
export interface Check {
  readonly scenario: string;
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}

export interface ConformanceRun {
  readonly exitCode: number | null;
  /** What the runner printed. */
  readonly output: string;
  /** Of every scenario that ran, sorted by scenario. */
  readonly checks: readonly Check[];
}

/** Runs `conformance server` with these arguments against an MCP endpoint on loopback. */
export async function runConformance(scope: Scope, url: string, args: readonly string[]): Promise<ConformanceRun> {
  const folder = await temporaryFolder(scope);
  const options = ['--url', url, '--timeout', String(SCENARIO_TIMEOUT_MS), '--output-dir', folder];
  const child = spawn(process.execPath, [RUNNER, 'server', ...options, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  scope.defer(() => child.kill('SIGKILL'));
  const exit = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  return { exitCode, output: stdout + stderr, checks: await readChecks(folder) };
}

/** The runner leaves `server-<scenario>-<time>/checks.json` for each scenario. */
async function readChecks(folder: string): Promise<Check[]> {
  const names = (await readdir(folder)).filter((name) => name.startsWith('server-')).sort();
  const checks = names.map(async (name) => {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1] ?? name;
    const list = JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8')) as Omit<Check, 'scenario'>[];
    return list.map(({ id, status, errorMessage }) => ({
      scenario,
      id,
      status,
      ...(errorMessage !== undefined && { errorMessage }),
    }));
  });
  return (await Promise.all(checks)).flat();
}

export const scenariosOf = ({ checks }: ConformanceRun): string[] => [
  ...new Set(checks.map(({ scenario }) => scenario)),
];
