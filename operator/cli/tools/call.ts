import { readFile } from 'node:fs/promises';
import { buffer as readAll } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import { jsonText, printable } from '../../../gateway/contract/text/printable.ts';
import type { CallOptions, McpSession, Tool } from '../client/mcp-session.ts';
import { withSession, type SessionFlags } from '../client/with-session.ts';
import { isPending, missingTools, readBackends } from './backends.ts';
import { decodeUtf8 } from '../../../gateway/contract/text/utf8.ts';
import { closest } from '../../source/files/closest.ts';
import { EXIT } from '../exit.ts';

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
    if (!tool) return EXIT.failed;
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
  return EXIT.invalid;
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
  return isError ? EXIT.failed : EXIT.done;
}

/** Arguments of a call, or a sentence for the user. */
type Arguments = { readonly args: JsonObject } | { readonly problem: string };

/** Parses the text of `--json`. */
export function parseJsonArguments(text: string): Arguments {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: '--json is not valid JSON: write an object such as {"a": 1}' };
  }
  return isObject(value) ? { args: value } : { problem: '--json must be an object such as {"a": 1}' };
}

/** Adds `name=value` texts to `base`, converted to the types in the input schema of the tool. */
export function addArguments(base: JsonObject, texts: readonly string[], inputSchema: unknown): Arguments {
  const schema = isObject(inputSchema) ? inputSchema : {};
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const added: [string, unknown][] = [];
  for (const text of texts) {
    const at = text.indexOf('=');
    if (at < 1) return { problem: `--arg ${text}: write NAME=VALUE` };
    const [name, value] = [text.slice(0, at), text.slice(at + 1)];
    if (!Object.hasOwn(properties, name) && schema['additionalProperties'] === false)
      return { problem: unknownName(name, Object.keys(properties)) };
    const converted = convert(value, typesOf(properties[name]));
    if ('mustBe' in converted) return { problem: `--arg ${name}: the value must be ${converted.mustBe}` };
    added.push([name, converted.value]);
  }
  const args = Object.fromEntries([...Object.entries(base), ...added]);
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  const missing = required.filter((name): name is string => typeof name === 'string' && !Object.hasOwn(args, name));
  if (missing.length === 0) return { args };
  const options = missing.map((name) => `--arg ${name}=VALUE`).join(' ');
  return { problem: `the tool requires ${missing.join(', ')}: add ${options}` };
}

function unknownName(name: string, names: readonly string[]): string {
  const similar = closest(name, names);
  if (similar !== undefined) return `--arg ${name}: the tool has no such argument: did you mean ${similar}?`;
  return `--arg ${name}: the tool has no such argument: it has ${names.join(', ') || 'none'}`;
}

/** Returns the JSON types that a schema allows; an empty list when it names no type. */
function typesOf(schema: unknown): ReadonlySet<unknown> {
  if (!isObject(schema)) return new Set();
  const alternatives = [schema['anyOf'], schema['oneOf']].filter((list) => Array.isArray(list)).flat();
  return new Set([schema['type'], ...alternatives.flatMap((each) => [...typesOf(each)])].flat().filter(Boolean));
}

type Converted = { readonly value: unknown } | { readonly mustBe: string };

/** Conversions by JSON type, in the order in which they are tried, and the words for a value that fits no type. */
const CONVERSIONS: readonly (readonly [type: string, words: string, fits: (value: unknown) => boolean])[] = [
  ['integer', 'an integer', Number.isSafeInteger],
  ['number', 'a number', (value) => typeof value === 'number'],
  ['boolean', 'true or false', (value) => typeof value === 'boolean'],
  ['null', 'null', (value) => value === null],
  ['array', 'a list in JSON, such as ["a"]', Array.isArray],
  ['object', 'an object in JSON, such as {"a": 1}', isObject],
];

/** Converts a text to one of these types. A text that fits no other type is a string where strings are allowed. */
function convert(text: string, types: ReadonlySet<unknown>): Converted {
  const allowed = CONVERSIONS.filter(([type]) => types.has(type));
  const value = parsed(text);
  if (value !== undefined && allowed.some(([, , fits]) => fits(value))) return { value };
  if (types.has('string') || allowed.length === 0) return { value: text };
  return { mustBe: allowed.map(([, words]) => words).join(', or ') };
}

/** Returns undefined for a text that is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const MOST = 3;

/** Returns the names that a user may have meant: those that contain the word, else the most similar name. */
export function nearTools(word: string, names: readonly string[]): string[] {
  const lower = word.toLowerCase();
  const containing = names.filter((name) => name.toLowerCase().includes(lower));
  if (containing.length > 0) return containing.toSorted((a, b) => a.length - b.length).slice(0, MOST);
  const unprefixed = new Map(names.map((name) => [name.slice(name.indexOf('_') + 1), name]));
  const similar = closest(word, names) ?? unprefixed.get(closest(word, [...unprefixed.keys()]) ?? '');
  return similar === undefined ? [] : [similar];
}

/** Renders the content of a result: texts as they are, other kinds as one line each. */
export function resultText(result: JsonObject): string {
  const content: readonly unknown[] = Array.isArray(result['content']) ? result['content'] : [];
  if (content.length === 0 && result['structuredContent'] !== undefined)
    return `${jsonText(result['structuredContent'], 2)}\n`;
  return content.map((block) => withLineEnd(isObject(block) ? blockText(block) : '[unknown]')).join('');
}

const withLineEnd = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`);

function blockText(block: JsonObject): string {
  const { type, text, resource } = block;
  if (type === 'text' && typeof text === 'string') return text;
  if (type === 'resource' && isObject(resource)) return summary('resource', resource);
  return summary(typeof type === 'string' ? type : 'unknown', block);
}

/** Renders `[image image/png 12 KiB]`. */
function summary(kind: string, { uri, mimeType, data, blob, text }: JsonObject): string {
  const parts = [kind, uri, mimeType, sizeOf(data ?? blob, text)];
  return `[${parts.filter((part) => typeof part === 'string').join(' ')}]`;
}

function sizeOf(base64: unknown, text: unknown): string | undefined {
  if (typeof base64 === 'string') return size(Buffer.byteLength(base64, 'base64'));
  return typeof text === 'string' ? size(Buffer.byteLength(text)) : undefined;
}

/** Renders a number of bytes as people read it: `512 bytes`, `12 KiB`, `3 MiB`. */
function size(bytes: number): string {
  if (bytes < 1_024) return `${String(bytes)} bytes`;
  const kib = bytes / 1_024;
  return kib < 1_024 ? `${String(Math.round(kib))} KiB` : `${String(Math.round(kib / 1_024))} MiB`;
}
