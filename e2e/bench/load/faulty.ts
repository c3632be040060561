/**
 * Side load of W7: calls the tools of misbehaving backends repeatedly. Each `--tool` is `N:NAME`, N calls in flight,
 * with a pause between calls; it runs at the lowest priority, so that it takes little CPU
 * from the gateway. Prints a JSON line when all calls are about to begin; ends on SIGTERM or after `--seconds`.
 */
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openSession, post } from '../mcp.ts';

const PAUSE_MS = 200;

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: '' },
    seconds: { type: 'string', default: '4' },
    tool: { type: 'string', multiple: true, default: [] },
  },
});
const { url } = values;
const deadline = performance.now() + Number(values.seconds) * 1_000;
const tools = values.tool.map((flag) => {
  const colon = flag.indexOf(':');
  return { inFlight: Number(flag.slice(0, colon)), name: flag.slice(colon + 1) };
});
const workers = tools.reduce((sum, { inFlight }) => sum + inFlight, 0);
const begun: Record<string, number> = {};
setPriority(constants.priority.PRIORITY_LOW);

/** Counts a worker that begins; prints the number of calls by tool when all workers have begun. */
function begins(name: string): void {
  begun[name] = (begun[name] ?? 0) + 1;
  const all = Object.values(begun).reduce((sum, count) => sum + count, 0);
  if (all === workers) process.stdout.write(`${JSON.stringify(begun)}\n`);
}

async function worker(name: string): Promise<void> {
  const session = await openSession(url);
  const params = JSON.stringify({ name, arguments: { text: 'x' } });
  begins(name);
  while (performance.now() < deadline) {
    // The answer does not matter: the benchmark measures the healthy calls beside it.
    await post(url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`, session).catch(
      () => undefined,
    );
    await sleep(PAUSE_MS);
  }
}

for (const { inFlight, name } of tools) for (let each = 0; each < inFlight; each += 1) void worker(name);
setTimeout(() => process.exit(0), Number(values.seconds) * 1_000);
process.once('SIGTERM', () => process.exit(0));
