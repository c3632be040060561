import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import { imageScheme } from '../../resolve/backends/server-backend.ts';
import { SERVER_COMMANDS } from './commands/index.ts';
import { commandLineOf, programOf, unwrapped } from './command-line.ts';
import { ENV_NAME, noVariable, type Invocation } from './commands/invocation.ts';
import { ownCommand } from './commands/package-runners.ts';
import { ADDRESS_MEMBERS, folderIn, ignoredMembers, unusedVariables } from './ignored-members.ts';
import { oneLine, isTextList, textMap, withoutNulls } from './texts.ts';
import { remoteServer } from './remote-server.ts';
import { type Reading, type RemoteTransport, type ServerRules, type ServerSpec, settingOf } from './server-spec.ts';
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

/** Endpoint of `vmcp up` with its default port. */
const OWN_ENDPOINT = /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):4483\//u;

/** Reads a server of a client's file. `project` is the folder in which the client starts it, when the file names a project. */
export function readServer(written: unknown, project?: string): Reading {
  const value = withoutNulls(written);
  if (!isObject(value)) return { leftOut: 'it is not an object' };
  if (value['disabled'] === true || value['enabled'] === false || value['isActive'] === false)
    return { leftOut: 'it is disabled' };
  const hasCommand =
    value['command'] !== undefined && (value['command'] !== '' || !ADDRESS_MEMBERS.some((name) => value[name]));
  const reading = hasCommand ? readCommand(value, project) : readUrl(value);
  const isVmcp = 'server' in reading && reading.server.runs === 'elsewhere' && OWN_ENDPOINT.test(reading.server.url);
  return isVmcp ? { leftOut: 'it is vmcp itself, which would call itself' } : reading;
}

function readUrl(value: JsonObject): Reading {
  const member = ADDRESS_MEMBERS.find((name) => typeof value[name] === 'string');
  if (member === undefined && (value['source'] === 'extension' || isObject(value['settings'])))
    return { leftOut: 'it comes from an extension of the editor, which alone knows its command' };
  if (member === undefined) return { leftOut: 'it has neither a command nor a url' };
  const headers = headersOf(value);
  if (!headers) return { leftOut: 'its headers are not texts' };
  const type = value['type'] ?? value['transport'] ?? value['transportType'];
  const named = typeof type === 'string' ? type.toLowerCase().replace(/[-_]/gu, '') : '';
  if (member !== 'httpUrl' && type !== undefined && !TRANSPORTS.has(named))
    return { leftOut: `vmcp has no transport ${oneLine(JSON.stringify(type))}` };
  const transport = member === 'httpUrl' ? 'streamable-http' : TRANSPORTS.get(named);
  const env = textMap(value['env'] ?? value['environment']) ?? new Map<string, string>();
  const settings = [...headers].map(([name, text]) => settingOf(name, text, env));
  const warnings = [...unusedVariables(env, [...headers.values()]), ...ignoredMembers(value, 'elsewhere')];
  return withRules(remoteServer(String(value[member]), transport, settings), value, warnings);
}

/** Returns the headers. Some clients have members of their own for variables of the host and for keys; Copilot nests them. */
function headersOf(value: JsonObject): ReadonlyMap<string, string> | undefined {
  const { requestInit: request } = value;
  const nested = isObject(request) ? request['headers'] : request;
  const [plain, more, named, inRequest] = [
    value['headers'],
    value['http_headers'],
    value['env_http_headers'],
    nested,
  ].map(textMap);
  const key = keyHeader(value);
  if (!plain || !more || !named || !inRequest || !key) return undefined;
  const variables = [...named].map(([header, variable]) => [header, `\${env:${variable}}`] as const);
  return new Map([...inRequest, ...plain, ...more, ...variables, ...key]);
}

/** Returns the header for the key of a server: a variable in Codex, Kimi Code and Mistral Vibe, a value in Continue. */
function keyHeader(value: JsonObject): [string, string][] | undefined {
  const variable = value['bearer_token_env_var'] ?? value['bearerTokenEnvVar'] ?? value['api_key_env'];
  const key = variable === undefined ? value['apiKey'] : variable;
  if (key === undefined || key === '') return [];
  const { api_key_header: header = 'Authorization', api_key_format: format = 'Bearer {token}' } = value;
  if (typeof key !== 'string' || typeof header !== 'string' || typeof format !== 'string') return undefined;
  return [[header, format.replace('{token}', () => (variable === undefined ? key : `\${env:${key}}`))]];
}

function readCommand(value: JsonObject, project?: string): Reading {
  const { command, args, env: nested } = commandLineOf(value);
  const [inner, outer] = [textMap(nested), environmentOf(value)];
  if (typeof command !== 'string' || !isTextList(args)) return { leftOut: 'its command or args are not texts' };
  if (!inner || !outer) return { leftOut: 'its env values are not texts' };
  const line = unwrapped(command, args);
  const env = new Map([...inner, ...outer, ...(line.env ?? [])]);
  const wrong = [...env.keys()].find((name) => !ENV_NAME.test(name));
  if (wrong !== undefined) return { leftOut: noVariable(wrong) };
  const read = SERVER_COMMANDS.get(programOf(line.command)) ?? ownCommand;
  const reading = read({
    program: line.command,
    args: line.args,
    env,
    cwd: folderIn(value) ?? (project?.startsWith('/') ? project : undefined),
  } satisfies Invocation);
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
  const env = textMap(value['env'] ?? value['environment']);
  if (!env || !Array.isArray(passed)) return undefined;
  const names = passed.map((each: unknown) => (isObject(each) ? each['name'] : each));
  if (!isTextList(names)) return undefined;
  return new Map([...names.map((name) => [name, `\${env:${name}}`] as const), ...env]);
}

const isOwn = (server: ServerSpec): boolean => server.runs === 'here' && imageScheme(server.image) === 'command';
