/**
 * Side load of W7: calls the tools of misbehaving backends over and over for `--seconds`. Each `--tool` is `N:NAME`, N calls
 * in flight, with a pause between calls, so that it costs attention rather than CPU. Prints how many calls of each name
 * were begun as a JSON line and ends, whatever is still unanswered.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openSession, post } from './mcp.ts';

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
const begun: Record<string, number> = Object.fromEntries(tools.map(({ name }) => [name, 0]));

async function worker(name: string): Promise<void> {
  const session = await openSession(url);
  const params = JSON.stringify({ name, arguments: { text: 'x' } });
  while (performance.now() < deadline) {
    begun[name] = (begun[name] ?? 0) + 1;
    // Any answer will do, and none as well: what is judged is the healthy calls beside it.
    await post(url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`, session).catch(
      () => undefined,
    );
    await sleep(PAUSE_MS);
  }
}

const workers = tools.flatMap(({ inFlight, name }) => Array.from({ length: inFlight }, () => worker(name)));
await Promise.race([Promise.all(workers), sleep(Number(values.seconds) * 1_000)]);
process.stdout.write(`${JSON.stringify(begun)}\n`);
process.exit(0);
