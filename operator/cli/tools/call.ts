import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import { printable } from '../../../gateway/contract/printable.ts';
import type { CallOptions } from '../client/mcp-session.ts';
import { withSession, type SessionFlags } from '../client/with-session.ts';
import { nearTools } from './near-tools.ts';
import { addArguments, parseJsonArguments, type Arguments } from './tool-arguments.ts';
import { resultText } from './tool-result.ts';

export interface CallFlags extends SessionFlags {
  /** `name=value`. */
  readonly arg?: readonly string[];
  /** An object, `@file`, or `-` for standard input. */
  readonly json?: string;
  readonly timeoutMs: number;
  readonly output?: 'json';
}

/** `vmcp call TOOL`: exits with 0, 1 for a failed call, or 2 for wrong arguments. */
export async function call(name: string, flags: CallFlags): Promise<number> {
  const base = await baseArguments(flags.json);
  if ('problem' in base) return refuse(base.problem);
  return withSession(flags, async (session) => {
    const tools = await session.tools();
    const tool = tools.find((each) => each.name === name);
    if (!tool)
      return unknownTool(
        name,
        tools.map((each) => each.name),
      );
    const chosen = addArguments(base.args, flags.arg ?? [], tool['inputSchema']);
    if ('problem' in chosen) return refuse(chosen.problem);
    return print(await session.call(name, chosen.args, { timeoutMs: flags.timeoutMs, onProgress }), flags.output);
  });
}

function refuse(problem: string): number {
  process.stderr.write(`${problem}\n`);
  return 2;
}

/** Reads the value of `--json`. */
async function baseArguments(json = '{}'): Promise<Arguments> {
  if (json === '-') return parseJsonArguments(await readAll(process.stdin));
  if (!json.startsWith('@')) return parseJsonArguments(json);
  const file = json.slice(1);
  try {
    return parseJsonArguments(await readFile(file, 'utf8'));
  } catch (error) {
    const code = isObject(error) && typeof error['code'] === 'string' ? error['code'] : 'unknown error';
    return { problem: `--json: ${file} cannot be read (${code})` };
  }
}

function unknownTool(name: string, names: readonly string[]): number {
  const near = nearTools(name, names);
  const advice = near.length > 0 ? `did you mean ${near.join(' or ')}?` : 'vmcp tools lists the tools';
  process.stderr.write(`there is no tool "${name}": ${advice}\n`);
  return 1;
}

/** Prints progress on a terminal only. */
const onProgress: CallOptions['onProgress'] = ({ progress, total, message = '' }) => {
  if (!process.stderr.isTTY) return;
  const steps = total === undefined ? String(progress) : `${String(progress)}/${String(total)}`;
  process.stderr.write(`${printable(`${steps} ${message}`.trim())}\n`);
};

function print(result: JsonObject, output: 'json' | undefined): number {
  const isError = result['isError'] === true;
  if (output === 'json') process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  else {
    const stream = isError ? process.stderr : process.stdout;
    const text = resultText(result);
    // On a terminal, text of a tool must not move the cursor or change colours.
    stream.write(stream.isTTY ? text.replaceAll(/[^\n\t]+/gu, printable) : text);
  }
  return isError ? 1 : 0;
}
