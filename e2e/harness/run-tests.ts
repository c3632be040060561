/**
 * `make test` and `make e2e`: runs the projects of vitest that the arguments name and prints one tally for all of them.
 * The tests of the operator mostly wait for a control plane: they run in a second process beside the others, whose
 * output appears at its end. The failed tests are named once more before the tally, in lines that begin with `failed:`.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

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
    /** Why the file did not load. */
    message: string;
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
  }[];
}

interface Failure {
  file: string;
  title: string;
  message: string;
}

/** One process of vitest. */
interface Run {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Prints the output when the run has ended. */
  readonly isQuiet?: true;
}

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const reportFileOf = ({ name }: Run): string => join(root, '.cache', `test-report-${name}.json`);

/** Starts `node ...args` and resolves to its exit code; 1 when a signal ended it. */
async function runNode(args: readonly string[], { env, isQuiet }: Run): Promise<{ code: number; output: string }> {
  const stdout = isQuiet === true ? 'pipe' : 'inherit';
  const child = spawn(process.execPath, [...args], {
    cwd: root,
    stdio: ['ignore', stdout, 'inherit'],
    env: { ...process.env, ...env },
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

async function runVitest(run: Run): Promise<{ tally: Tally; failures: Failure[]; output: string }> {
  const reportFile = reportFileOf(run);
  rmSync(reportFile, { force: true });
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
  const { code, output } = await runNode([vitest, 'run', ...reporters, ...run.args], run);
  const { failures, ...tally } = readResult(run);
  return { tally: code === 0 ? tally : { ...tally, failed: Math.max(tally.failed, 1) }, failures, output };
}

/** Splits the arguments into runs: `--project operator` gets one of its own when it is not the only project. */
function runsOf(args: readonly string[]): Run[] {
  const at = args.findIndex((arg, index) => arg === '--project' && args[index + 1] === 'operator');
  const others = args.toSpliced(at, 2);
  if (at === -1 || !others.includes('--project')) return [{ name: 'all', args }];
  const filters = others.filter((arg, index) => arg !== '--project' && others[index - 1] !== '--project');
  const beside = ['--project', 'operator', '--maxWorkers', '2', ...filters];
  return [
    { name: 'main', args: others },
    { name: 'operator', args: beside, env: { PORT_LANE: '4' }, isQuiet: true },
  ];
}

mkdirSync(join(root, '.cache'), { recursive: true });
const total: Tally = { passed: 0, failed: 0, skipped: 0 };
const failures: Failure[] = [];
for (const { tally, output, ...result } of await Promise.all(runsOf(process.argv.slice(2)).map(runVitest))) {
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
