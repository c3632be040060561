import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { jsonText, printable } from '../../../gateway/contract/text/printable.ts';
import { readRunning, type Running, defaultStateDir } from '../../local/state.ts';
import { type ServerStatus, type BackendStatus, StatusError, readManagement } from './gateway-status.ts';
import { renderTable } from '../table.ts';
import { count } from '../validate/problems-output.ts';
import { EXIT, failureOf } from '../exit.ts';

export interface StatusFlags {
  readonly management?: string;
  readonly state?: string;
  readonly watch?: boolean;
  readonly output?: 'json';
}

/** A gateway with its state at one moment. */
interface Observation {
  readonly servers: readonly ServerStatus[];
  readonly running: Running | undefined;
}

const EVERY_MS = 2_000;
/** Clears a terminal and moves to its first line (ECMA-48). */
const CLEAR = Buffer.from('\u001b[2J\u001b[H');

/** `vmcp status`: exits with 0, or with 1 when no gateway answers. */
export async function status(flags: StatusFlags): Promise<number> {
  if (flags.watch === true) return watch(flags);
  const observed = await observe(flags).catch(sentenceOf);
  if (typeof observed === 'string') {
    process.stderr.write(`${observed}\n`);
    return EXIT.failed;
  }
  process.stdout.write(flags.output === 'json' ? `${jsonText(toJson(observed), 2)}\n` : tables(observed));
  return EXIT.done;
}

async function observe(flags: StatusFlags): Promise<Observation> {
  const stateDir = resolve(flags.state ?? defaultStateDir(process.env));
  const running = flags.management === undefined ? readRunning(stateDir) : undefined;
  const managementUrl = flags.management ?? running?.managementUrl;
  if (managementUrl === undefined) {
    throw new StatusError(
      `no gateway runs with the state folder ${stateDir}: start one with vmcp up, or name one with --management URL`,
    );
  }
  return { servers: await readManagement(managementUrl), running };
}

/** Returns the message for a user. Throws errors without such a message. */
const sentenceOf = (error: unknown): string => failureOf(error).message;

/** Prints the state every 2 s until a signal: the whole table on a terminal, else the changed rows. */
async function watch(flags: StatusFlags): Promise<number> {
  const { stdout, stderr } = process;
  const stopped = new AbortController();
  const stop = (): void => {
    stopped.abort();
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  stdout.once('error', stop); // the reader of a pipe is gone
  const show = flags.output === 'json' ? documents() : stdout.isTTY ? redraw : changedRows();
  let complaint = '';
  for (let first = true; !stopped.signal.aborted; first = false) {
    const observed = await observe(flags).catch(sentenceOf);
    if (typeof observed !== 'string') {
      if (show === redraw) stdout.write(CLEAR);
      stdout.write(show(observed));
    } else if (observed !== complaint) stderr.write(`${observed}\n`);
    if (typeof observed === 'string' && first) return EXIT.failed;
    complaint = typeof observed === 'string' ? observed : '';
    await sleep(EVERY_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
  }
  return EXIT.done;
}

type Show = (observed: Observation) => string;

const tables: Show = ({ servers, running }) => {
  const mcpUrlOf = ({ name, namespace = '' }: ServerStatus): string | undefined =>
    running?.servers.find((server) => server.name === name && server.namespace === namespace)?.mcpUrl;
  return statusTables(servers, mcpUrlOf, Date.now());
};

const redraw: Show = (observed) => `${tables(observed)}\nUpdated every 2 s. Stop with Ctrl-C.\n`;

/** Returns a function that renders the lines that differ from those of its last call, apart from their alignment. */
function changedRows(): Show {
  let before: ReadonlySet<string> = new Set();
  const words = (line: string): string => line.replaceAll(/ +/gu, ' ');
  return ({ servers }) => {
    const lines = statusLines(servers);
    const changed = lines.filter((line) => !before.has(words(line)));
    before = new Set(lines.map(words));
    return changed.map((line) => `${line}\n`).join('');
  };
}

/** Returns a function that renders the state as one line of JSON when it differs from that of its last call. */
function documents(): Show {
  let before = '';
  return (observed) => {
    const document = `${jsonText(toJson(observed))}\n`;
    if (document === before) return '';
    before = document;
    return document;
  };
}

const toJson = ({ servers, running }: Observation): object => ({
  ...(running && { managementUrl: running.managementUrl }),
  servers: servers.map((server) => ({
    ...server,
    mcpUrl: running?.servers.find(({ name, namespace }) => name === server.name && namespace === server.namespace)
      ?.mcpUrl,
  })),
});

const SESSIONS_HEADER = ['USER', 'CLIENT', 'AGE', 'LAST USE'];
/** Most sessions in a table; `-o json` has more. */
const MAX_SESSIONS = 10;

const HEADER = ['NAME', 'STATE', 'TOOLS', 'CALLS', 'REASON'];

const row = (prefix: string, { name, state, tools, calls, reason }: BackendStatus): string[] => [
  `${prefix}${name}`,
  state,
  tools === undefined ? '-' : String(tools),
  String(calls),
  reason ?? '',
];

/** Returns the problems that no row of a backend explains. */
const otherProblems = ({ problems }: ServerStatus) =>
  problems.filter(({ path }) => path?.startsWith('vmcp.backends.') !== true);

/** Reasons have no text of a backend: only the log does. */
function logHint({ backends }: ServerStatus): string[] {
  const failed = backends.filter(({ state }) => state === 'unhealthy').map(({ name }) => name);
  return failed.length === 0 ? [] : [`The log of the gateway has the errors of: ${failed.join(', ')}`];
}

const title = ({ namespace, name }: ServerStatus): string => (namespace === undefined ? name : `${namespace}/${name}`);

/** Renders the sessions that were used last. `now` is in ms since the epoch. */
function sessionLines({ sessions, sessionList }: ServerStatus, now: number): string[] {
  const shown = sessionList.slice(0, MAX_SESSIONS);
  if (shown.length === 0) return [];
  const since = (time: string): string => elapsed(now - Date.parse(time));
  const rows = shown.map(({ user, client, started_at: started, last_used_at: used }) => [
    ...[user, client, since(started)],
    `${since(used)} ago`,
  ]);
  const more = sessions - shown.length;
  return ['', ...renderTable([SESSIONS_HEADER, ...rows]), ...(more > 0 ? [`and ${count(more, 'older session')}`] : [])];
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
] as const;

/** Renders a duration in its largest whole unit: `45s`, `12m`, `3h`, `2d`. */
function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  const [unit, length] = UNITS.find(([, each]) => seconds >= each) ?? ['s', 1];
  return `${String(Math.floor(seconds / length))}${unit}`;
}

/**
 * Renders a heading, a table of backends and a table of sessions for each virtual server. `mcpUrlOf` returns the URL of a server if it is
 * known, and `now` is in ms since the epoch.
 */
export function statusTables(
  servers: readonly ServerStatus[],
  mcpUrlOf: (server: ServerStatus) => string | undefined,
  now: number,
): string {
  const sections = servers.map((server) => [
    [title(server), mcpUrlOf(server), count(server.sessions, 'session')]
      .filter((part) => part !== undefined)
      .join('  '),
    ...renderTable([HEADER, ...server.backends.map((backend) => row('', backend))]),
    ...otherProblems(server).map(({ message, reason }) => `${message} [${reason}]`),
    ...logHint(server),
    ...sessionLines(server, now),
  ]);
  return `${sections.map((lines) => lines.map(printable).join('\n')).join('\n\n')}\n`;
}

/** Returns the header and a line for each backend. With several virtual servers names start with that of the server. */
export function statusLines(servers: readonly ServerStatus[]): string[] {
  const prefixOf = (server: ServerStatus): string => (servers.length > 1 ? `${title(server)}/` : '');
  const rows = servers.flatMap((server) => server.backends.map((backend) => row(prefixOf(server), backend)));
  return renderTable([HEADER, ...rows]);
}
