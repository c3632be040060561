import { printable } from '../../../gateway/contract/text/printable.ts';
import { renderTable } from '../table.ts';
import { count } from '../validate/problems-output.ts';
import type { BackendStatus, ServerStatus } from './gateway-status.ts';

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

/** Renders a heading and a table for each virtual server. `mcpUrlOf` returns the URL of a server if it is known. */
export function statusTables(
  servers: readonly ServerStatus[],
  mcpUrlOf: (server: ServerStatus) => string | undefined,
): string {
  const sections = servers.map((server) => [
    [title(server), mcpUrlOf(server), count(server.sessions, 'session')]
      .filter((part) => part !== undefined)
      .join('  '),
    ...renderTable([HEADER, ...server.backends.map((backend) => row('', backend))]),
    ...otherProblems(server).map(({ message, reason }) => `${message} [${reason}]`),
    ...logHint(server),
  ]);
  return `${sections.map((lines) => lines.map(printable).join('\n')).join('\n\n')}\n`;
}

/** Returns the header and a line for each backend. With several virtual servers names start with that of the server. */
export function statusLines(servers: readonly ServerStatus[]): string[] {
  const prefixOf = (server: ServerStatus): string => (servers.length > 1 ? `${title(server)}/` : '');
  const rows = servers.flatMap((server) => server.backends.map((backend) => row(prefixOf(server), backend)));
  return renderTable([HEADER, ...rows]);
}
