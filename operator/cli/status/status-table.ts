import { printable } from '../../../gateway/contract/text/printable.ts';
import { renderTable } from '../table.ts';
import { count } from '../validate/problems-output.ts';
import type { BackendStatus, ServerStatus } from './gateway-status.ts';

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
