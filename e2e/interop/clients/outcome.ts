import type { Check } from '../result.ts';

/** Line that a program prints for each way in which it has connected. */
interface Line {
  /** Name of the way, such as the negotiated revision. */
  readonly name?: string;
  readonly tools: readonly string[];
  readonly echo: string;
}

/** Tools of the two servers behind the gateway that a client must list. */
const WANTED = ['everything_echo', 'memory_read_graph'];

/** Turns the output of a program into checks; its other lines are ignored. A program without a line has failed. */
export function checksOf(code: number, stdout: string, stderr: string): Check[] {
  const lines = stdout.split('\n').filter((text) => text.startsWith('{"'));
  const checks = lines.map((text) => checkOf(JSON.parse(text) as Line));
  if (code === 0 && checks.length > 0) return checks;
  const [last = 'it printed nothing'] = `${stdout}\n${stderr}`
    .split('\n')
    .filter((text) => /error|exception/iu.test(text));
  return [
    ...checks,
    { name: 'lists and calls', outcome: 'failed', detail: `exit code ${String(code)}: ${last.trim().slice(0, 200)}` },
  ];
}

function checkOf({ name, tools, echo }: Line): Check {
  const missing = WANTED.filter((tool) => !tools.some((listed) => listed.endsWith(tool)));
  const what = name === undefined ? 'lists and calls' : `lists and calls (${name})`;
  if (missing.length > 0) return { name: what, outcome: 'failed', detail: `does not list ${missing.join(', ')}` };
  if (!echo.includes('Echo: hello')) return { name: what, outcome: 'failed', detail: `the call returned "${echo}"` };
  return { name: what, outcome: 'passed', detail: `${String(tools.length)} tools` };
}
