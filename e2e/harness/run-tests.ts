import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What a suite reports when it has ended; `failed` is at least 1 when it ended badly without naming a test. */
interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

/** A suite runs to its end, writes its own progress to stdout, and resolves to its tally. */
type Suite = (args: string[]) => Promise<Tally>;

/** The part of vitest's JSON report that is read here. */
interface VitestReport {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: { status: string; assertionResults: { status: string }[] }[];
}

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const reportFile = join(root, '.cache', 'test-report.json');

/** Exit code of `node ...args`; a death by signal counts as 1. */
function runNode(args: string[]): Promise<number> {
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

/** A file that does not load has no failed test of its own, and still is one failure. */
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

const vitest: Suite = async (args) => {
  mkdirSync(dirname(reportFile), { recursive: true });
  rmSync(reportFile, { force: true });
  const code = await runNode([
    join(root, 'node_modules', 'vitest', 'vitest.mjs'),
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${reportFile}`,
    ...args,
  ]);
  const tally = readTally();
  return code === 0 ? tally : { ...tally, failed: Math.max(tally.failed, 1) };
};

/** Vitest writes no report when it cannot start: then nothing ran and one thing failed. */
function readTally(): Tally {
  try {
    return tallyOf(JSON.parse(readFileSync(reportFile, 'utf8')) as VitestReport);
  } catch (error) {
    console.error(`vitest left no report: ${error instanceof Error ? error.message : String(error)}`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

/** Every suite of the project, in the order in which they run. */
const SUITES: readonly Suite[] = [vitest];

const total: Tally = { passed: 0, failed: 0, skipped: 0 };
for (const suite of SUITES) {
  const tally = await suite(process.argv.slice(2));
  total.passed += tally.passed;
  total.failed += tally.failed;
  total.skipped += tally.skipped;
}
if (total.passed + total.failed === 0) console.error('no test ran: at least one must');
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
