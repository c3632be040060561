import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import { imageScheme } from '../../resolve/backends/images.ts';
import { COMMANDS } from './commands/index.ts';
import type { Invocation } from './commands/invocation.ts';
import { ownCommand } from './commands/own-command.ts';
import { oneLine, quoted } from './quoted.ts';
import { remoteServer } from './remote-server.ts';
import type { Reading, RemoteTransport, ServerSpec } from './server-spec.ts';
import { settingOf } from './setting.ts';

/** Environment variable names that a Secret's key and `spec.secrets` accept. */
const ENV_NAME = /^[-._a-zA-Z][-._a-zA-Z0-9]{0,252}$/u;

/** Values of `type` and `transport` for servers that run elsewhere, by client. */
const TRANSPORTS: ReadonlyMap<string, RemoteTransport> = new Map([
  ['http', 'streamable-http'],
  ['https', 'streamable-http'],
  ['streamable-http', 'streamable-http'],
  ['streamable_http', 'streamable-http'],
  ['streamableHttp', 'streamable-http'],
  ['sse', 'sse'],
]);

/** Members that hold the URL, by client. `httpUrl` of Gemini CLI is always streamable HTTP. */
const URL_MEMBERS = ['url', 'serverUrl', 'httpUrl'] as const;

/** Endpoint of `vmcp up` with its default port. */
const OWN_ENDPOINT = /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):4483\//u;

/** Reads one server of a client's file. */
export function readServer(value: unknown): Reading {
  if (!isObject(value)) return { leftOut: 'it is not an object' };
  if (value['disabled'] === true || value['enabled'] === false) return { leftOut: 'it is disabled' };
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
  const transport =
    member === 'httpUrl' ? 'streamable-http' : typeof type === 'string' ? TRANSPORTS.get(type) : undefined;
  if (type !== undefined && transport === undefined)
    return { leftOut: `vmcp has no transport ${oneLine(JSON.stringify(type))}` };
  const settings = [...headers].map(([name, text]) => settingOf(name, text));
  return withWarnings(remoteServer(String(value[member]), transport, settings), filterWarnings(value));
}

/** Returns the headers. Codex has members of its own for texts, for variables of the host, and for a bearer token. */
function headersOf(value: JsonObject): ReadonlyMap<string, string> | undefined {
  const { bearer_token_env_var: token } = value;
  const [plain, more, named] = [value['headers'], value['http_headers'], value['env_http_headers']].map(textsOf);
  if (!plain || !more || !named || (token !== undefined && typeof token !== 'string')) return undefined;
  const variables = [...named].map(([header, variable]) => [header, `\${env:${variable}}`] as const);
  return new Map([
    ...plain,
    ...more,
    ...variables,
    ...(token === undefined ? [] : [['Authorization', `Bearer \${env:${token}}`] as const]),
  ]);
}

function readCommand(value: JsonObject): Reading {
  const { command, args } = unwrapped(value);
  const env = environmentOf(value);
  if (typeof command !== 'string' || !isTextList(args)) return { leftOut: 'its command or args are not texts' };
  if (!env) return { leftOut: 'its env values are not texts' };
  const wrong = [...env.keys()].find((name) => !ENV_NAME.test(name));
  if (wrong !== undefined) return { leftOut: `${quoted(wrong)} cannot name an environment variable` };
  const read = COMMANDS.get(programOf(command)) ?? ownCommand;
  const reading = read({ program: command, args, env, cwd: value['cwd'] } satisfies Invocation);
  return withWarnings(reading, [...ignoredMembers(value, reading), ...filterWarnings(value)]);
}

const withWarnings = (reading: Reading, more: readonly string[]): Reading =>
  'leftOut' in reading ? reading : { ...reading, warnings: [...reading.warnings, ...more] };

/** Returns the variables. Codex lists in `env_vars` those that a server gets from the host, as names or `{name, source}`. */
function environmentOf(value: JsonObject): ReadonlyMap<string, string> | undefined {
  const { env_vars: passed = [] } = value;
  const env = textsOf(value['env']);
  if (!env || !Array.isArray(passed)) return undefined;
  const names = passed.map((each: unknown) => (isObject(each) ? each['name'] : each));
  if (!isTextList(names)) return undefined;
  return new Map([...names.map((name) => [name, `\${env:${name}}`] as const), ...env]);
}

/**
 * Returns the command and its arguments, without `cmd /c`. Zed also writes `command: {path, args}`, and some people write
 * the whole line as `command`.
 */
function unwrapped(value: JsonObject): { command: unknown; args: unknown } {
  const { command: named, args: given = [] } = value;
  const nested = isObject(named)
    ? { command: named['path'], args: named['args'] ?? [] }
    : { command: named, args: given };
  const { command, args } = nested;
  if (typeof command !== 'string' || !isTextList(args)) return nested;
  if (programOf(command) === 'cmd' && args[0]?.toLowerCase() === '/c') return { command: args[1], args: args.slice(2) };
  const [first = '', ...words] = args.length === 0 && !/["'\\]/u.test(command) ? command.trim().split(/\s+/u) : [];
  return COMMANDS.has(first) ? { command: first, args: words } : nested;
}

/** Returns the name of a program: `C:\nodejs\npx.cmd` and `/usr/bin/npx` are `npx`. */
const programOf = (command: string): string =>
  command
    .replace(/^.*[\\/]/su, '')
    .replace(/\.(?:exe|cmd|bat)$/iu, '')
    .toLowerCase();

/** Lists members without an effect. A program of this machine starts in its `cwd`. */
const ignoredMembers = (value: JsonObject, reading: Reading): string[] => [
  ...(value['cwd'] === undefined || ('server' in reading && isOwn(reading.server))
    ? []
    : ['its cwd is left out: write absolute paths into its args']),
  ...(value['envFile'] === undefined ? [] : ['its envFile is not read: add its variables to the Secret of the server']),
];

const isOwn = (server: ServerSpec): boolean => server.runs === 'here' && imageScheme(server.image) === 'command';

/** Members that choose tools, by client. */
const TOOL_FILTERS = ['enabled_tools', 'disabled_tools', 'includeTools', 'excludeTools', 'disabledTools'] as const;

const filterWarnings = (value: JsonObject): string[] =>
  TOOL_FILTERS.filter((name) => value[name] !== undefined).map(
    (name) => `its ${name} is left out: choose its tools with config.aggregation.tools of the VirtualMCPServer`,
  );

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
