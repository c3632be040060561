/**
 * `npm run trace-call`: prints how many files and functions of the repository run in the gateway for one `tools/call`: in a session
 * of 2025-11-25, and of 2026-07-28. With `--list` it prints them in the order in which the call enters them. The call before
 * the measured ones has opened what stays open.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { request } from 'undici';
import { startBackends } from '../bench/contenders.ts';
import { until, writeConfig } from '../bench/gateway.ts';
import { callTool, openSession, PROTOCOL_VERSION, toolNames } from '../bench/mcp.ts';
import { endAll, freePorts, start, type Child } from '../bench/processes.ts';
import { Debugger } from './debugger.ts';
import { byFile, functionsOf, inOrder } from './trace.ts';

const root = resolve(import.meta.dirname, '../..');
const { values } = parseArgs({ options: { list: { type: 'boolean', default: false } } });
const TEXT = 'the words';
const MODERN = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'trace', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A kind of call, and the most files and functions that it may run. */
interface Kind {
  readonly title: string;
  readonly files: number;
  readonly functions: number;
  readonly call: () => Promise<void>;
}

/** Starts the gateway from its sources, with a debugger. */
async function startInspected(config: string): Promise<{ child: Child; url: string; inspected: Debugger }> {
  const [port = 0, managementPort = 0] = await freePorts(2);
  const main = join(root, 'operator/cli/main.ts');
  const listen = ['--host', '127.0.0.1', '--port', String(port), '--management-port', String(managementPort)];
  const child = start('vmcp gateway', ['--inspect=127.0.0.1:0', main, 'gateway', '--config', config, ...listen]);
  const origin = `http://127.0.0.1:${String(port)}`;
  await until(child, async () => (await (await fetch(`${origin}/readyz`)).text()) !== '' && debuggerOf(child) !== '');
  return { child, url: `${origin}/mcp`, inspected: await Debugger.connect(debuggerOf(child)) };
}

const debuggerOf = (child: Child): string => /ws:\S+/u.exec(child.stderr())?.[0] ?? '';

/** Calls a tool without a session. @throws Error for any other answer than a result */
async function callWithoutSession(url: string, name: string): Promise<void> {
  const params = { name, arguments: { text: TEXT }, _meta: META };
  const { statusCode, body } = await request(url, {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': MODERN,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  const text = await body.text();
  if (statusCode !== 200 || !text.includes('"resultType"')) throw new Error(`${String(statusCode)}: ${text}`);
}

async function print(inspected: Debugger, { title, files, functions, call }: Kind): Promise<void> {
  await call();
  const ran = await functionsOf(root, inspected, call);
  const count = byFile(ran).size;
  const goal = `goal: ${String(files)} and ${String(functions)}`;
  process.stdout.write(`${title}: ${String(count)} files, ${String(ran.length)} functions (${goal})\n`);
  if (!values.list) return;
  for (const [file, names] of byFile(await inOrder(inspected, ran, call)))
    process.stdout.write(`  ${file}: ${names.join(', ')}\n`);
}

const folder = mkdtempSync(join(tmpdir(), 'vmcp-trace-'));
try {
  const { backends } = await startBackends(1, 1);
  const { url, inspected } = await startInspected(writeConfig(folder, backends));
  await inspected.startCoverage();
  const session = await openSession(url);
  const [name = ''] = await toolNames(url, session);
  const kinds: readonly Kind[] = [
    {
      title: `tools/call in a session of ${PROTOCOL_VERSION}`,
      files: 42,
      functions: 150,
      call: async () => void (await callTool(url, name, TEXT, session)),
    },
    {
      title: `tools/call of ${MODERN}`,
      files: 48,
      functions: 170,
      call: () => callWithoutSession(url, name),
    },
  ];
  for (const kind of kinds) await print(inspected, kind);
  inspected.close();
} finally {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
}
