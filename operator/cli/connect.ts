import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ClientEndpoint, McpClient } from '../../gateway/management/clients/client.ts';
import { type Running, type RunningServer, readRunning, defaultStateDir, userFolders } from '../local/state.ts';
import { jsonText } from '../../gateway/contract/text/printable.ts';
import { closest } from '../source/files/closest.ts';
import { CLIENTS, findClient } from '../../gateway/management/clients/clients.ts';
import { configFileOf, installedMarkOf, type UserFolders } from '../../gateway/management/clients/config-file.ts';
import {
  addEntry,
  registered,
  snippet,
  removeEntry,
  type FileEdit,
} from '../../gateway/management/clients/register.ts';
import { readUserFile, writeUserFile } from '../../gateway/management/state/user-file.ts';
import { UserFileError } from '../../gateway/management/state/write-files.ts';
import { columnsOf, cut, renderTable, type TerminalSize } from './table.ts';
import { ownCommandLine } from './own-command.ts';
import { EXIT, endWith } from './exit.ts';

export interface ClientEndpointFlags {
  readonly url?: string;
  readonly name?: string;
}

/** `message` says what to do. */
export type EndpointChoice =
  | { readonly endpoint: ClientEndpoint }
  | { readonly message: string; readonly isUsage: boolean };

/** Name of an entry for `--url` without `--name`. */
const DEFAULT_NAME = 'vmcp';
/** Names that every client accepts and that need no quotes in any format. */
const ENTRY_NAME = /^[A-Za-z\d][\w.-]{0,63}$/u;

/** Chooses the virtual server to connect to: that of `--url`, or one of the running `vmcp up`. Pure. */
export function chooseClientEndpoint(
  { url, name }: ClientEndpointFlags,
  running: Running | undefined,
  stateDir: string,
): EndpointChoice {
  if (url !== undefined) return ofUrl(url, name ?? DEFAULT_NAME);
  if (!running) {
    const message = `no vmcp up runs with the state folder ${stateDir}: start it, or name the URL with --url`;
    return { message, isUsage: false };
  }
  const { servers } = running;
  const [only, ...others] = servers;
  if (only && others.length === 0) return named(name ?? only.name, only.mcpUrl);
  const names = servers.map(shownName).join(', ');
  if (name === undefined) {
    return usage(`several virtual servers run (${names}): choose one with --name`);
  }
  const found = servers.filter((server) => server.name === name || shownName(server) === name);
  const [chosen, ...more] = found;
  if (!chosen) return usage(`no virtual server "${name}" runs: choose one of ${names}`);
  if (more.length > 0) return usage(`several virtual servers are called "${name}": choose one of ${names}`);
  return named(chosen.name, chosen.mcpUrl);
}

/** Returns the name with its namespace, which distinguishes servers of one name. */
const shownName = ({ namespace, name }: RunningServer): string => (namespace === '' ? name : `${namespace}/${name}`);

function ofUrl(text: string, name: string): EndpointChoice {
  const url = URL.parse(text);
  if (!url || !/^https?:$/u.test(url.protocol) || url.username !== '' || url.password !== '') {
    return usage('--url must be an http or https URL without a password, such as http://127.0.0.1:4483/mcp');
  }
  return named(name, text);
}

const named = (name: string, url: string): EndpointChoice =>
  ENTRY_NAME.test(name)
    ? { endpoint: { name, url } }
    : usage(
        '--name must start with a letter or digit and have at most 64 letters, digits, dots, hyphens and underscores',
      );

const usage = (message: string): EndpointChoice => ({ message, isUsage: true });

export interface ConnectFlags extends ClientEndpointFlags {
  readonly print?: boolean;
  readonly remove?: boolean;
  readonly force?: boolean;
  readonly state?: string;
  readonly output?: 'json';
}

/** Parts of the process that this command uses. */
interface Host {
  readonly stdout: { write(text: string): unknown } & TerminalSize;
  readonly stderr: { write(text: string): unknown };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
}

/** Least width of the list on a terminal, and most of the columns that would make it wider. */
const LINE_WIDTH = 80;
const NAME_WIDTH = 16;
const ENTRIES_WIDTH = 14;

/** `vmcp connect`. Returns the exit code. */
export function connect(clientName: string | undefined, flags: ConnectFlags, host: Host): number {
  const fail = (message: string, code: number): number => {
    host.stderr.write(`${message}\n`);
    return code;
  };
  if (clientName === undefined) {
    const action = (['print', 'remove', 'force'] as const).find((name) => flags[name]);
    return action
      ? fail(`name a client for --${action}, such as vmcp connect cursor`, EXIT.invalid)
      : list(flags, host);
  }
  if (isInspector(clientName)) return showInspector(flags, host, fail);
  const client = findClient(clientName);
  if (!client) return fail(`unknown client "${clientName}": ${adviceFor(clientName)}`, EXIT.invalid);
  if (flags.print && flags.remove) return fail('choose either --print or --remove', EXIT.invalid);
  try {
    if (flags.remove && flags.url === undefined && flags.name !== undefined && !runningOf(flags, host))
      return change(client, { name: flags.name }, flags, host);
    const choice = chooseClientEndpoint(flags, runningOf(flags, host), stateDirOf(flags, host));
    if ('message' in choice) return fail(choice.message, choice.isUsage ? EXIT.invalid : EXIT.failed);
    return flags.print ? print(client, choice.endpoint, host) : change(client, choice.endpoint, flags, host);
  } catch (error) {
    return endWith(error, host.stderr);
  }
}

/** Prints the command that opens the MCP Inspector: it has no configuration file. */
function showInspector(flags: ConnectFlags, host: Host, fail: (message: string, code: number) => number): number {
  if (flags.remove || flags.force) return fail('the inspector has no configuration file to change', EXIT.invalid);
  const choice = chooseClientEndpoint(flags, runningOf(flags, host), stateDirOf(flags, host));
  if ('message' in choice) return fail(choice.message, choice.isUsage ? EXIT.invalid : EXIT.failed);
  host.stdout.write(flags.output === 'json' ? inspectorJson(choice.endpoint) : inspectorText(choice.endpoint));
  return EXIT.done;
}

/** Returns similar clients, or all of them. */
function adviceFor(clientName: string): string {
  const types = [...CLIENTS.map(({ type }) => type), INSPECTOR].toSorted();
  const similar = types.filter((type) => clientName !== '' && type.includes(clientName.toLowerCase()));
  const best = similar.length > 0 ? similar.join(' or ') : closest(clientName, types);
  return best === undefined ? `choose one of ${types.join(', ')}` : `did you mean ${best}?`;
}

const stateDirOf = ({ state }: ConnectFlags, { env }: Host): string => resolve(state ?? defaultStateDir(env));

const runningOf = (flags: ConnectFlags, host: Host): ReturnType<typeof readRunning> =>
  readRunning(stateDirOf(flags, host));

const foldersOf = ({ env, platform }: Host): UserFolders => userFolders(env, platform);

function print(client: McpClient, endpoint: ClientEndpoint, host: Host): number {
  const path = configFileOf(client, foldersOf(host));
  const project = client.projectFile === undefined ? '' : `, or to ${client.projectFile} of a project`;
  host.stderr.write(`Add this to ${path}${project}:\n`);
  host.stdout.write(snippet(client, endpoint, !existsSync(path)));
  if (client.nextStep !== undefined) host.stderr.write(`${client.nextStep}\n`);
  return EXIT.done;
}

/** Adds or removes the entry. Without a URL, removes the entry whatever URL it has. */
function change(
  client: McpClient,
  target: { readonly name: string; readonly url?: string },
  flags: ConnectFlags,
  host: Host,
): number {
  const { name, url } = target;
  const shownPath = configFileOf(client, foldersOf(host));
  const file = readUserFile(shownPath);
  const edit: FileEdit =
    flags.remove || url === undefined
      ? removeEntry(file.text, client, target, flags)
      : addEntry(file.text, client, { name, url }, flags);
  if ('problem' in edit) {
    const { line, message } = edit.problem;
    host.stderr.write(`${shownPath}${line === undefined ? '' : `:${String(line)}:`} ${message}\n`);
    return EXIT.invalid;
  }
  const isChanged = edit.text !== file.text;
  if (isChanged) writeUserFile(file, edit.text, Date.now());
  if (flags.output === 'json') {
    const result = { client: client.type, name, url, file: shownPath, changed: isChanged };
    host.stdout.write(`${jsonText(result)}\n`);
  } else host.stdout.write(`${sentence(client, target, shownPath, flags.remove ?? false, isChanged)}\n`);
  return EXIT.done;
}

function sentence(
  client: McpClient,
  { name, url = '' }: { readonly name: string; readonly url?: string },
  file: string,
  isRemoval: boolean,
  isChanged: boolean,
): string {
  if (isRemoval) return isChanged ? `removed "${name}" from ${file}` : `${file} has no entry "${name}"`;
  const next = client.nextStep === undefined ? '' : `\n${client.nextStep}`;
  return isChanged
    ? `added "${name}" (${url}) to ${file}: restart ${client.name} if it runs${next}`
    : `${file} already has "${name}" (${url})`;
}

/** Lists the clients, installed clients first, with the entries that point at a running virtual server. */
function list(flags: ConnectFlags, host: Host): number {
  const folders = foldersOf(host);
  const running = runningOf(flags, host);
  const urls = new Set(flags.url === undefined ? running?.servers.map(({ mcpUrl }) => mcpUrl) : [flags.url]);
  const all = CLIENTS.map((client) => ({
    client: client.type,
    name: client.name,
    installed: existsSync(installedMarkOf(client, folders)),
    connected: connectedOf(client, folders, urls),
    file: configFileOf(client, folders),
  }));
  const clients = all.toSorted((one, other) => Number(other.installed) - Number(one.installed));
  if (flags.output === 'json') {
    host.stdout.write(`${jsonText(clients)}\n`);
    return EXIT.done;
  }
  const cells = clients.map(({ client, name, installed, connected, file }): Row => {
    const shown = file.startsWith(`${folders.home}/`) ? `~${file.slice(folders.home.length)}` : file;
    return [client, name, installed ? 'yes' : 'no', connected.join(',') || '-', shown];
  });
  const lines = clientLines([['CLIENT', 'NAME', 'INSTALLED', 'CONNECTED', 'FILE'], ...cells], columnsOf(host.stdout));
  host.stdout.write(`${lines.join('\n')}\n`);
  if (!running && flags.url === undefined) {
    const dir = stateDirOf(flags, host);
    host.stderr.write(`CONNECTED is empty: no vmcp up runs with the state folder ${dir}\n`);
  }
  return EXIT.done;
}

type Row = readonly [client: string, name: string, installed: string, connected: string, file: string];

/** Renders the list: as wide as the terminal, and complete without one. */
function clientLines(rows: readonly Row[], columns: number | undefined): string[] {
  const whole = renderTable(rows);
  const width = Math.max(columns ?? Infinity, LINE_WIDTH);
  if (whole.every((line) => line.length <= width)) return whole;
  const others = rows.map(([client, name, installed, connected]) => [
    client,
    cut(name, NAME_WIDTH),
    installed,
    cut(connected, ENTRIES_WIDTH),
  ]);
  const room = width - Math.max(...renderTable(others).map((line) => line.length)) - 2;
  return renderTable(rows.map(({ 4: file }, index) => [...(others[index] ?? []), cutPath(file, room)]));
}

/** Shortens a path in its middle: the end of it names the file. `-o json`, `--print` and a pipe show the whole path. */
function cutPath(path: string, width: number): string {
  if (path.length <= width) return path;
  const start = path.startsWith('~/') ? '~/...' : '...';
  const ends = path.split('/').map((_part, index, parts) => `/${parts.slice(index).join('/')}`);
  const end =
    ends.find((text) => start.length + text.length <= width) ?? path.slice(path.length - width + start.length);
  return start + end;
}

/** Returns the names of the entries that point at one of the URLs. A file that cannot be read has none. */
function connectedOf(client: McpClient, folders: UserFolders, urls: ReadonlySet<string>): string[] {
  try {
    const { text } = readUserFile(configFileOf(client, folders));
    return [...registered(text, client)].flatMap(([name, url]) => (url !== undefined && urls.has(url) ? [name] : []));
  } catch (error) {
    if (error instanceof UserFileError) return [];
    throw error;
  }
}

/** Origin of its page. Version 1 calls from there with the connection type Direct. */
const PAGE = 'http://localhost:6274';

/** Name of the MCP Inspector, which is no client with a file. */
const INSPECTOR = 'inspector';

/** Returns true for the MCP Inspector, which has no configuration file. */
const isInspector = (clientName: string): boolean => /^(?:mcp-?)?inspector$/iu.test(clientName);

/** Command that opens the MCP Inspector for an endpoint. */
export const inspectorCommand = ({ url }: ClientEndpoint): readonly string[] => [
  ...['npx', '@modelcontextprotocol/inspector'],
  ...['--server-url', url, '--transport', 'http'],
];

/** Renders the commands to run. The page of the Inspector needs leave to call, its program does not. */
const inspectorText = (endpoint: ClientEndpoint): string =>
  [
    'Run this:',
    `  ${inspectorCommand(endpoint).join(' ')}`,
    'Inspector 1 with the connection type Direct calls from its page: let it, with',
    `  ${ownCommandLine('up', '...', '--allow-origin', PAGE)}`,
    '',
  ].join('\n');

/** Result for programs. */
const inspectorJson = (endpoint: ClientEndpoint): string =>
  `${JSON.stringify({ client: INSPECTOR, ...endpoint, command: inspectorCommand(endpoint), allowOrigin: PAGE })}\n`;
