import { readFile } from 'node:fs/promises';
import { buffer as readAll } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import { jsonText, printable } from '../../../gateway/contract/text/printable.ts';
import type { CallOptions, McpSession, Tool } from '../client/mcp-session.ts';
import { withSession, type SessionFlags } from '../client/with-session.ts';
import { isPending, missingTools, readBackends } from './backends.ts';
import { nearTools } from './near-tools.ts';
import { addArguments, parseJsonArguments, type Arguments } from './tool-arguments.ts';
import { resultText } from './tool-result.ts';
import { decodeUtf8 } from '../../../gateway/contract/text/utf8.ts';

export interface CallFlags extends SessionFlags {
  /** `name=value`. */
  readonly arg?: readonly string[];
  /** An object, `@file`, or `-` for standard input. */
  readonly json?: string;
  readonly timeoutMs: number;
  readonly output?: 'json';
}

/** Time between two looks for a tool of a server that is starting. */
const PAUSE_MS = 500;

/** `vmcp call TOOL`: exits with 0, 1 for a failed call, or 2 for wrong arguments. */
export async function call(name: string, flags: CallFlags): Promise<number> {
  const base = await baseArguments(flags.json);
  if ('problem' in base) return refuse(base.problem);
  return withSession(flags, async (session, managementUrl) => {
    const tool = await findTool(name, session, managementUrl);
    if (!tool) return 1;
    const chosen = addArguments(base.args, flags.arg ?? [], tool['inputSchema']);
    if ('problem' in chosen) return refuse(chosen.problem);
    return print(await session.call(name, chosen.args, { timeoutMs: flags.timeoutMs, onProgress }), flags.output);
  });
}

/** Waits for the tool while servers are being installed or start. Returns undefined after one sentence for each problem. */
async function findTool(
  name: string,
  session: McpSession,
  managementUrl: string | undefined,
): Promise<Tool | undefined> {
  for (let isFirst = true; ; isFirst = false) {
    const backends = await readBackends(managementUrl);
    const tools = await session.tools();
    const tool = tools.find((each) => each.name === name);
    if (tool) return tool;
    const pending = backends.filter(isPending).map((backend) => backend.name);
    if (pending.length === 0) {
      const names = tools.map((each) => each.name);
      process.stderr.write(`${unknownTool(name, names)}\n${missingTools(backends)}`);
      return undefined;
    }
    if (isFirst) process.stderr.write(`waiting for ${pending.join(', ')}, not ready yet (Ctrl-C stops)\n`);
    await sleep(PAUSE_MS);
  }
}

function refuse(problem: string): number {
  process.stderr.write(`${problem}\n`);
  return 2;
}

/** Reads the value of `--json`. */
async function baseArguments(json = '{}'): Promise<Arguments> {
  if (json === '-') return parseJsonBytes(await readAll(process.stdin), 'standard input');
  if (!json.startsWith('@')) return parseJsonArguments(json);
  const file = json.slice(1);
  try {
    return parseJsonBytes(await readFile(file), file);
  } catch (error) {
    const code = isObject(error) && typeof error['code'] === 'string' ? error['code'] : 'unknown error';
    return { problem: `--json: ${file} cannot be read (${code})` };
  }
}

function parseJsonBytes(bytes: Buffer, file: string): Arguments {
  const text = decodeUtf8(bytes);
  return text === undefined ? { problem: `--json: ${file} is not UTF-8: convert it` } : parseJsonArguments(text);
}

function unknownTool(name: string, names: readonly string[]): string {
  const near = nearTools(name, names);
  const advice = near.length > 0 ? `did you mean ${near.join(' or ')}?` : 'vmcp tools lists the tools';
  return `there is no tool "${name}": ${advice}`;
}

/** Prints progress on a terminal only. */
const onProgress: CallOptions['onProgress'] = ({ progress, total, message = '' }) => {
  if (!process.stderr.isTTY) return;
  const steps = total === undefined ? String(progress) : `${String(progress)}/${String(total)}`;
  process.stderr.write(`${printable(`${steps} ${message}`.trim())}\n`);
};

function print(result: JsonObject, output: 'json' | undefined): number {
  const isError = result['isError'] === true;
  if (output === 'json') process.stdout.write(`${jsonText(result, 2)}\n`);
  else {
    const stream = isError ? process.stderr : process.stdout;
    const text = resultText(result);
    // On a terminal, text of a tool must not move the cursor, change colours or reorder letters; a program gets it unchanged.
    stream.write(stream.isTTY ? text.replaceAll(/[^\n\t]+/gu, printable) : Buffer.from(text));
  }
  return isError ? 1 : 0;
}
