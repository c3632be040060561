/**
 * `make test` and `make e2e`: runs the projects of vitest that the arguments name and prints one tally for all of them.
 * The tests of the operator mostly wait for a control plane: they run in a second process beside the others, whose
 * output appears at its end.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

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
  testResults: { status: string; assertionResults: { status: string }[] }[];
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

/** Counts a file that does not load as one failure: it has no failed test of its own. */
function tallyOf(report: VitestReport): Tally {
  const broken = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((assertion) => assertion.status === 'failed'),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + broken.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/** Reads the report of a run. Vitest writes none when it cannot start: this counts as one failure. */
function readTally(run: Run): Tally {
  try {
    return tallyOf(JSON.parse(readFileSync(reportFileOf(run), 'utf8')) as VitestReport);
  } catch (error) {
    console.error(`vitest left no report: ${error instanceof Error ? error.message : String(error)}`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

async function runVitest(run: Run): Promise<{ tally: Tally; output: string }> {
  const reportFile = reportFileOf(run);
  rmSync(reportFile, { force: true });
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
  const { code, output } = await runNode([vitest, 'run', ...reporters, ...run.args], run);
  const tally = readTally(run);
  return { tally: code === 0 ? tally : { ...tally, failed: Math.max(tally.failed, 1) }, output };
}

/** Splits the arguments into runs: `--project operator` gets one of its own when it is not the only project. */
function runsOf(args: readonly string[]): Run[] {
  const at = args.findIndex((arg, index) => arg === '--project' && args[index + 1] === 'operator');
  const others = args.toSpliced(at, 2);
  if (at === -1 || !others.includes('--project')) return [{ name: 'all', args }];
  const filters = others.filter((arg, index) => arg !== '--project' && others[index - 1] !== '--project');
  const beside = ['--project', 'operator', ...filters];
  return [
    { name: 'main', args: others },
    { name: 'operator', args: beside, env: { PORT_LANE: '4' }, isQuiet: true },
  ];
}

mkdirSync(join(root, '.cache'), { recursive: true });
const total: Tally = { passed: 0, failed: 0, skipped: 0 };
for (const { tally, output } of await Promise.all(runsOf(process.argv.slice(2)).map(runVitest))) {
  process.stdout.write(output);
  total.passed += tally.passed;
  total.failed += tally.failed;
  total.skipped += tally.skipped;
}
if (total.passed + total.failed === 0) console.error('no test ran: at least one must');
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
