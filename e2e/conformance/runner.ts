import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Scope } from '../harness/scope.ts';
import { root, temporaryFolder } from '../harness/vmcp.ts';

const RUNNER = join(root, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js');
const SCENARIO_TIMEOUT_MS = 15_000;
const CLIENT_TIMEOUT_MS = 60_000;

/** One verdict of the runner. */
export interface Check {
  readonly scenario: string;
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}

export interface ConformanceRun {
  readonly exitCode: number | null;
  /** Output of the runner. */
  readonly output: string;
  /** Checks of every scenario, sorted by scenario. */
  readonly checks: readonly Check[];
}

/** Runs `conformance server` with these arguments against an MCP endpoint on loopback. */
export function runConformance(scope: Scope, url: string, args: readonly string[]): Promise<ConformanceRun> {
  return run(scope, 'server', ['--url', url, '--timeout', String(SCENARIO_TIMEOUT_MS), ...args]);
}

/** Runs a scenario of `conformance client` at this revision; `command` gets the URL of the scenario's server. */
export function runClientConformance(
  scope: Scope,
  scenario: string,
  { command, revision }: { readonly command: string; readonly revision: string },
): Promise<ConformanceRun> {
  const options = ['--command', command, '--timeout', String(CLIENT_TIMEOUT_MS), '--spec-version', revision];
  return run(scope, 'client', ['--scenario', scenario, ...options]);
}

/** Returns the checks that did not succeed. INFO is a record, not a verdict. */
export const findings = ({ checks }: ConformanceRun): Check[] =>
  checks.filter(({ status }) => status !== 'SUCCESS' && status !== 'INFO');

export const successes = ({ checks }: ConformanceRun): number =>
  checks.filter(({ status }) => status === 'SUCCESS').length;

export interface AuthorizationRun {
  readonly issuer: string;
  /** With the redirect URI `http://127.0.0.1:<port>/callback`. */
  readonly clientId: string;
  readonly port: number;
  readonly revision: string;
  readonly resource: string;
  /** Logs in at the URL that the runner prints, until the browser reaches its callback. */
  readonly browse: (authorizationUrl: string) => Promise<unknown>;
}

/** Runs `conformance authorization` against an authorization server on loopback. */
export function runAuthorizationConformance(scope: Scope, given: AuthorizationRun): Promise<ConformanceRun> {
  const { issuer, clientId, port, revision, resource, browse } = given;
  const options = ['--url', issuer, '--client-id', clientId, '--port', String(port), '--resource', resource];
  const browsing: Promise<unknown>[] = [];
  const seen = (output: string): void => {
    const url = /^(https?:\S+[?&]response_type=code\S*)$/mu.exec(output)?.[1];
    if (url !== undefined && browsing.length === 0) browsing.push(browse(url));
  };
  return run(scope, 'authorization', [...options, '--spec-version', revision], { seen, browsing });
}

type Command = 'server' | 'client' | 'authorization';

/** Text before the name of a scenario in the names of the runner's folders. */
const PREFIXES: Readonly<Record<Command, string>> = {
  server: 'server-',
  client: '',
  authorization: 'authorization-server-',
};

interface Browsing {
  /** Called with the whole output after each change. */
  readonly seen: (output: string) => void;
  /** Further promises that the run awaits. */
  readonly browsing: readonly Promise<unknown>[];
}

async function run(
  scope: Scope,
  command: Command,
  args: readonly string[],
  { seen, browsing }: Browsing = { seen: () => undefined, browsing: [] },
): Promise<ConformanceRun> {
  const folder = await temporaryFolder(scope);
  const child = spawn(process.execPath, [RUNNER, command, '--output-dir', folder, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  scope.defer(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      seen(output);
    });
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  await Promise.all(browsing);
  return { exitCode, output, checks: await readChecks(folder, command) };
}

/** Reads the folders of the scenarios: the prefix of the command, the name, the time. */
async function readChecks(folder: string, command: Command): Promise<Check[]> {
  const prefix = PREFIXES[command];
  const names = (await readdir(folder)).filter((name) => name.startsWith(prefix)).sort();
  const checks = names.map(async (name) => {
    const scenario = /^(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/u.exec(name.slice(prefix.length))?.[1] ?? name;
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
