/**
 * `make test` and `make e2e`: runs the projects of vitest that the arguments name and prints one tally for all of them.
 * The projects run in lanes (lanes.ts); the output of all but the first appears at the end. The failed tests are named once
 * more before the tally, in lines that begin with `failed:`. The processes of a run share the code that V8 has compiled.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { lanesOf, type Run } from './lanes.ts';

/** The message and the first frames of its stack. The whole text is in the output of vitest. */
const LINES_OF_A_FAILURE = 12;

interface Tally {
  passed: number;
  /** At least 1 when a run ended with an error without naming a test. */
  failed: number;
  skipped: number;
}

/** The part of vitest's JSON report that is read here. */
interface VitestReport {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: {
    /** Path of the file. */
    name: string;
    status: string;
    /** Reason why the file did not load. */
    message: string;
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
  }[];
}

interface Failure {
  file: string;
  title: string;
  message: string;
}

interface Result {
  tally: Tally;
  failures: Failure[];
  /** Output that has not been printed yet. */
  output: string;
}

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const VITEST = join(root, 'node_modules', 'vitest', 'vitest.mjs');
const CLUSTER = join(root, 'e2e', 'cluster', 'main.ts');
const COMPILED = join(root, '.cache', 'compiled');
const reportFileOf = ({ name }: Run): string => join(root, '.cache', `test-report-${name}.json`);

/** Runs `node ...args` and resolves to its exit code; 1 when a signal ended it. Without `env` its output appears at once. */
async function runNode(
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, [...args], {
    cwd: root,
    stdio: ['ignore', env === undefined ? 'inherit' : 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILED, ...env },
  });
  const output = child.stdout === null ? Promise.resolve('') : text(child.stdout);
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (exitCode) => resolve(exitCode ?? 1));
  });
  return { code, output: await output };
}

/** Lists the failed tests, and the files that did not load: these have no failed test of their own. */
function failuresOf({ testResults }: VitestReport): Failure[] {
  return testResults
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name, message, assertionResults }) => {
      const failed = assertionResults.filter(({ status }) => status === 'failed');
      const file = relative(root, name);
      if (failed.length === 0) return [{ file, title: 'the file does not load', message }];
      return failed.map((each) => ({ file, title: each.fullName, message: each.failureMessages.join('\n') }));
    });
}

/** Reads the report of a run. Vitest writes none when it cannot start: this counts as one failure. */
function readResult(run: Run): Tally & { failures: Failure[] } {
  try {
    const report = JSON.parse(readFileSync(reportFileOf(run), 'utf8')) as VitestReport;
    const failures = failuresOf(report);
    const skipped = report.numPendingTests + report.numTodoTests;
    return { passed: report.numPassedTests, failed: failures.length, skipped, failures };
  } catch (error) {
    console.error(`vitest left no report: ${error instanceof Error ? error.message : String(error)}`);
    return { passed: 0, failed: 1, skipped: 0, failures: [] };
  }
}

function argsOf(run: Run): string[] {
  if (run.program === 'cluster') return [CLUSTER, ...run.args];
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFileOf(run)}`];
  return [VITEST, 'run', ...reporters, ...run.args];
}

async function runTests(run: Run, env?: Readonly<Record<string, string>>): Promise<Result> {
  rmSync(reportFileOf(run), { force: true });
  const { code, output } = await runNode(argsOf(run), env);
  const { failures, ...tally } = readResult(run);
  return { tally: code === 0 ? tally : { ...tally, failed: Math.max(tally.failed, 1) }, failures, output };
}

/** Runs the lanes at the same time. The output of all lanes but the first is collected. */
async function runLanes(lanes: readonly (readonly Run[])[]): Promise<Result[]> {
  const results = lanes.map(async (lane, index) => {
    const ended: Result[] = [];
    // The first has the lanes 1 to 3 of ports (free-port.ts), the second 5 and 6.
    const env = index === 0 ? undefined : { PORT_LANE: '4' };
    for (const run of lane) ended.push(await runTests(run, env));
    return ended;
  });
  return (await Promise.all(results)).flat();
}

mkdirSync(join(root, '.cache'), { recursive: true });
rmSync(COMPILED, { recursive: true, force: true }); // tests run copies of the sources, in folders that do not come back
const total: Tally = { passed: 0, failed: 0, skipped: 0 };
const failures: Failure[] = [];
for (const { tally, output, ...result } of await runLanes(lanesOf(process.argv.slice(2)))) {
  process.stdout.write(output);
  failures.push(...result.failures);
  total.passed += tally.passed;
  total.failed += tally.failed;
  total.skipped += tally.skipped;
}
for (const { file, title, message } of failures) {
  const lines = stripVTControlCharacters(message).trim().split('\n');
  const own = lines.filter((line) => !line.includes('node_modules')).slice(0, LINES_OF_A_FAILURE);
  console.log([`failed: ${file} > ${title}`, ...own].join('\nfailed:   '));
}
if (total.passed + total.failed === 0) console.error('no test ran: at least one must');
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
