/**
 * Load of W5: `--workers` clients open a session, list the tools, call each `--tool` once and delete the session, repeatedly
 * for `--seconds`. Prints one `Load` as a JSON line; a request is a whole session.
 */
import { parseArgs } from 'node:util';
import { reportAndExit } from './load.ts';
import { callTool, closeSession, openSession, post } from '../mcp.ts';

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: '' },
    workers: { type: 'string', default: '16' },
    seconds: { type: 'string', default: '4' },
    tool: { type: 'string', multiple: true, default: [] },
  },
});
const { url, tool: tools } = values;
const startedAt = performance.now();
const deadline = startedAt + Number(values.seconds) * 1_000;
const latencies: number[] = [];
const failures: Record<string, number> = {};

async function wholeSession(): Promise<void> {
  const session = await openSession(url);
  if (session === undefined) throw new Error('initialize gave no session id');
  // Not parsed: the load generator must use less CPU than the server.
  const list = await post(url, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', session);
  if (list.status !== 200 || !list.message.includes('"tools":[{'))
    throw new Error(`tools/list answered ${String(list.status)}`);
  for (const name of tools) await callTool(url, name, 'churn', session);
  const status = await closeSession(url, session);
  if (status !== 200 && status !== 204) throw new Error(`DELETE answered ${String(status)}`);
}

async function worker(): Promise<void> {
  while (performance.now() < deadline) {
    const begun = performance.now();
    try {
      await wholeSession();
      latencies.push(performance.now() - begun);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      failures[reason] = (failures[reason] ?? 0) + 1;
    }
  }
}

await Promise.all(Array.from({ length: Number(values.workers) }, worker));
reportAndExit(startedAt, latencies, failures);
