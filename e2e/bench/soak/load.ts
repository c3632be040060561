/**
 * Load of the soak: `--workers` clients repeat everything that can happen in a session for `--seconds`:
 * calls, errors, big replies, a GET stream that is dropped and resumed, sessions that are deleted and sessions that
 * are abandoned. Prints `{"rounds":N,"failures":{...}}` as a JSON line.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { callTool, closeSession, MCP_HEADERS, openSession, post } from '../mcp.ts';

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: '' },
    workers: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '10' },
    tool: { type: 'string', multiple: true, default: [] },
    bad: { type: 'string', multiple: true, default: [] },
  },
});
const { url, tool: tools, bad } = values;
const deadline = performance.now() + Number(values.seconds) * 1_000;
const failures: Record<string, number> = {};
let rounds = 0;

const BIG_TEXT = 'x'.repeat(512 * 1024);
const CALLS = 20;
/** Every so many sessions, one is abandoned and expires. */
const LEFT_BEHIND = 10;
const streams = new Agent({ bodyTimeout: 0, pipelining: 0 });

/** Opens the session's GET stream and drops it. */
async function glance(session: string): Promise<void> {
  const headers = { ...MCP_HEADERS, Accept: 'text/event-stream', 'Mcp-Session-Id': session };
  const { body, statusCode } = await request(url, { headers, dispatcher: streams });
  await sleep(5);
  body.on('error', () => undefined).destroy();
  if (statusCode !== 200) throw new Error(`GET answered ${String(statusCode)}`);
}

async function expectAnswer(session: string, body: string, text: string): Promise<void> {
  const { message } = await post(url, body, session);
  if (!message.includes(text)) throw new Error(`"${text}" is not in ${message.slice(0, 120)}`);
}

async function wholeLife(round: number): Promise<void> {
  const session = await openSession(url);
  if (session === undefined) throw new Error('initialize gave no session id');
  await expectAnswer(session, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', '"tools":[{');
  await glance(session);
  for (let call = 0; call < CALLS; call += 1) {
    const name = tools[call % tools.length] ?? '';
    const text = await callTool(url, name, `round ${String(round)}`, session);
    if (!text.endsWith(`round ${String(round)}`)) throw new Error(`a call answered ${text.slice(0, 60)}`);
  }
  const big = await callTool(url, tools[0] ?? '', BIG_TEXT, session);
  if (big.length < BIG_TEXT.length) throw new Error(`a big reply has ${String(big.length)} characters`);
  await glance(session);
  await expectAnswer(session, call('no_such_tool'), '"error"');
  await expectAnswer(session, '{"jsonrpc":"2.0","id":3,"method":"no/such"}', '"error"');
  for (const name of bad) await expectAnswer(session, call(name), '"isError":true');
  if (round % LEFT_BEHIND !== 0) await closeSession(url, session);
}

const call = (name: string): string =>
  `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":${JSON.stringify(name)},"arguments":{"text":"x"}}}`;

async function worker(): Promise<void> {
  while (performance.now() < deadline) {
    try {
      await wholeLife((rounds += 1));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      failures[reason] = (failures[reason] ?? 0) + 1;
    }
  }
}

await Promise.all(Array.from({ length: Number(values.workers) }, worker));
process.stdout.write(`${JSON.stringify({ rounds, failures })}\n`);
process.exit(0);
