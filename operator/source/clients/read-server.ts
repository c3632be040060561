import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import { imageScheme } from '../../resolve/backends/images.ts';
import { COMMANDS } from './commands/index.ts';
import { ENV_NAME, noVariable, type Invocation } from './commands/invocation.ts';
import { ownCommand } from './commands/own-command.ts';
import { folderIn, ignoredMembers, unusedVariables } from './ignored-members.ts';
import { oneLine } from './quoted.ts';
import { remoteServer } from './remote-server.ts';
import type { Reading, RemoteTransport, ServerRules, ServerSpec } from './server-spec.ts';
import { placeholdersIn } from './placeholders.ts';
import { settingOf } from './setting.ts';
import { timeoutIn } from './timeouts.ts';
import { toolFilterIn } from './tool-filter.ts';

/** Values of `type` and `transport` for servers that run elsewhere, in lower case and without "-" and "_". */
const TRANSPORTS: ReadonlyMap<string, RemoteTransport | undefined> = new Map([
  ['http', 'streamable-http'],
  ['https', 'streamable-http'],
  ['httpstream', 'streamable-http'],
  ['streamable', 'streamable-http'],
  ['streamablehttp', 'streamable-http'],
  ['sse', 'sse'],
  // These say only that it runs elsewhere.
  ['remote', undefined],
  ['url', undefined],
]);

/** Members that hold the URL, by client. `httpUrl` of Gemini CLI is always streamable HTTP. */
const URL_MEMBERS = ['url', 'serverUrl', 'httpUrl'] as const;

/** Endpoint of `vmcp up` with its default port. */
const OWN_ENDPOINT = /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):4483\//u;

/** Reads one server of a client's file. */
export function readServer(value: unknown): Reading {
  if (!isObject(value)) return { leftOut: 'it is not an object' };
  if (value['disabled'] === true || value['enabled'] === false || value['isActive'] === false)
    return { leftOut: 'it is disabled' };
  const reading = value['command'] === undefined ? readUrl(value) : readCommand(value);
  const isVmcp = 'server' in reading && reading.server.runs === 'elsewhere' && OWN_ENDPOINT.test(reading.server.url);
  return isVmcp ? { leftOut: 'it is vmcp itself, which would call itself' } : reading;
}

function readUrl(value: JsonObject): Reading {
  const member = URL_MEMBERS.find((name) => typeof value[name] === 'string');
  if (member === undefined) return { leftOut: 'it has neither a command nor a url' };
  const headers = headersOf(value);
  if (!headers) return { leftOut: 'its headers are not texts' };
  const type = value['type'] ?? value['transport'] ?? value['transportType'];
  const named = typeof type === 'string' ? type.toLowerCase().replace(/[-_]/gu, '') : '';
  if (member !== 'httpUrl' && type !== undefined && !TRANSPORTS.has(named))
    return { leftOut: `vmcp has no transport ${oneLine(JSON.stringify(type))}` };
  const transport = member === 'httpUrl' ? 'streamable-http' : TRANSPORTS.get(named);
  const env = textsOf(value['env'] ?? value['environment']) ?? new Map<string, string>();
  const settings = [...headers].map(([name, text]) => settingOf(name, text, env));
  const used = new Set([...headers.values()].flatMap(placeholdersIn).map(({ variable = '' }) => variable));
  const warnings = [...unusedVariables(env, used), ...ignoredMembers(value, 'elsewhere')];
  return withRules(remoteServer(String(value[member]), transport, settings), value, warnings);
}

/** Returns the headers. Codex has members of its own for texts, for variables of the host, and for a bearer token; Copilot nests them. */
function headersOf(value: JsonObject): ReadonlyMap<string, string> | undefined {
  const { bearer_token_env_var: token, requestInit: request } = value;
  const nested = isObject(request) ? request['headers'] : request;
  const [plain, more, named, inRequest] = [
    value['headers'],
    value['http_headers'],
    value['env_http_headers'],
    nested,
  ].map(textsOf);
  if (!plain || !more || !named || !inRequest || (token !== undefined && typeof token !== 'string')) return undefined;
  const variables = [...named].map(([header, variable]) => [header, `\${env:${variable}}`] as const);
  return new Map([
    ...inRequest,
    ...plain,
    ...more,
    ...variables,
    ...(token === undefined ? [] : [['Authorization', `Bearer \${env:${token}}`] as const]),
  ]);
}

function readCommand(value: JsonObject): Reading {
  const { command, args, env: nested } = commandLineOf(value);
  const [inner, outer] = [textsOf(nested), environmentOf(value)];
  if (typeof command !== 'string' || !isTextList(args)) return { leftOut: 'its command or args are not texts' };
  if (!inner || !outer) return { leftOut: 'its env values are not texts' };
  const env = new Map([...inner, ...outer]);
  const wrong = [...env.keys()].find((name) => !ENV_NAME.test(name));
  if (wrong !== undefined) return { leftOut: noVariable(wrong) };
  const line = unwrapped(command, args);
  const read = COMMANDS.get(programOf(line.command)) ?? ownCommand;
  const reading = read({ program: line.command, args: line.args, env, cwd: folderIn(value) } satisfies Invocation);
  const hasFolder = 'server' in reading && isOwn(reading.server);
  return withRules(reading, value, ignoredMembers(value, 'here', hasFolder));
}

/** Adds the filter of tools and the timeout of a server, and warnings about its members. */
function withRules(reading: Reading, value: JsonObject, more: readonly string[]): Reading {
  if ('leftOut' in reading) return reading;
  const { tools, warnings: ofFilter } = toolFilterIn(value);
  const { timeoutMs, warnings: ofTimeout } = timeoutIn(value);
  const rules: ServerRules = {
    ...reading.rules,
    ...(tools && { tools }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
  return {
    server: reading.server,
    warnings: [...reading.warnings, ...ofFilter, ...ofTimeout, ...more],
    ...(Object.keys(rules).length > 0 && { rules }),
  };
}

/** Returns the variables. Codex lists in `env_vars` those that a server gets from the host, as names or `{name, source}`. */
function environmentOf(value: JsonObject): ReadonlyMap<string, string> | undefined {
  const { env_vars: passed = [] } = value;
  const env = textsOf(value['env'] ?? value['environment']);
  if (!env || !Array.isArray(passed)) return undefined;
  const names = passed.map((each: unknown) => (isObject(each) ? each['name'] : each));
  if (!isTextList(names)) return undefined;
  return new Map([...names.map((name) => [name, `\${env:${name}}`] as const), ...env]);
}

/** Returns the command line as it is written. Zed also writes `command: {path, args, env}`, and other clients a list. */
function commandLineOf(value: JsonObject): { command: unknown; args: unknown; env?: unknown } {
  const { command, args = [] } = value;
  if (isObject(command)) return { command: command['path'], args: command['args'] ?? args, env: command['env'] };
  if (!isTextList(command) || !isTextList(args)) return { command, args };
  return { command: command[0], args: [...command.slice(1), ...args] };
}

interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
}

/** Removes `cmd /c`, and splits a command that some people write with its first arguments. */
function unwrapped(command: string, args: readonly string[]): CommandLine {
  const [option, program] = args;
  if (programOf(command) === 'cmd' && option?.toLowerCase() === '/c' && program !== undefined)
    return unwrapped(program, args.slice(2));
  const [first = '', ...words] = /["'\\]/u.test(command) ? [] : command.trim().split(/\s+/u);
  return words.length > 0 && COMMANDS.has(first) ? { command: first, args: [...words, ...args] } : { command, args };
}

/** Returns the name of a program: `C:\nodejs\npx.cmd` and `/usr/bin/npx` are `npx`. */
const programOf = (command: string): string =>
  command
    .replace(/^.*[\\/]/su, '')
    .replace(/\.(?:exe|cmd|bat|ps1)$/iu, '')
    .toLowerCase();

const isOwn = (server: ServerSpec): boolean => server.runs === 'here' && imageScheme(server.image) === 'command';

const isTextList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

/** Returns a map of texts; numbers and booleans count as texts. Undefined when a value is something else. */
function textsOf(value: unknown): ReadonlyMap<string, string> | undefined {
  if (value === undefined || value === null) return new Map();
  if (!isObject(value)) return undefined;
  const entries = Object.entries(value);
  const isText = (item: unknown): item is string | number | boolean =>
    typeof item === 'string' || typeof item === 'number' || typeof item === 'boolean';
  return entries.every(([, item]) => isText(item))
    ? new Map(entries.map(([name, item]) => [name, String(item)]))
    : undefined;
}
