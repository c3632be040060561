import type { Gateway } from '../../../gateway/process/gateway.ts';
import { renderTable } from '../table.ts';
import { count } from '../validate/problems-output.ts';

/** Warns about listeners that other machines can reach, since the printed URL has the loopback address. */
function exposed(servers: Gateway['servers']): string[] {
  const addresses = servers.map(({ address }) => address).filter((address) => !LOOPBACK.test(address));
  return addresses.length === 0
    ? []
    : [
        `Other machines can connect: the gateway listens on ${addresses.join(', ')}.`,
        'To prevent it, use --host 127.0.0.1, or publish the port of a container as -p 127.0.0.1:PORT:PORT.',
      ];
}

/** Addresses that only this machine can reach. */
const LOOPBACK = /^(?:127\.|\[::1\]:)/u;

/**
 * Renders the output of `vmcp up` after the start: the endpoints, and commands to try. `commandLine` renders a command of
 * vmcp with the options that find this process.
 */
export function endpointTable(
  { servers, managementUrl }: Pick<Gateway, 'servers' | 'managementUrl'>,
  commandLine: (...args: readonly string[]) => string,
): string {
  const lines = renderTable([
    ['NAME', 'MCP URL', 'ISSUER', 'MANAGEMENT'],
    ...servers.map(({ name, mcpUrl, issuer = '-' }) => [name, mcpUrl, issuer, managementUrl]),
  ]);
  const name = nameOption(servers);
  return [
    '',
    ...lines,
    '',
    ...exposed(servers),
    `Connect a client:  ${commandLine('connect', 'claude-code', ...name)}`,
    `List the tools:  ${commandLine('tools', ...name)}`,
    `See the servers:  ${commandLine('status')}`,
    'Stop with Ctrl-C.',
    '',
    '',
  ].join('\n');
}

/** Renders the end of a start: `2 servers ready, 22 tools, 5 s.` */
export function startSummary(
  { servers, ready, tools }: Pick<ReturnType<Gateway['startProgress']>, 'servers' | 'ready' | 'tools'>,
  seconds: number,
  commandLine: (...args: readonly string[]) => string,
): string {
  const all = count(servers, 'server');
  const facts = `ready, ${count(tools, 'tool')}, ${String(seconds)} s.`;
  return ready === servers
    ? `${all} ${facts}`
    : `${String(ready)} of ${all} ${facts} See why:  ${commandLine('status')}`;
}

/** Returns the option that chooses the first of several virtual servers. */
function nameOption([first, ...others]: Gateway['servers']): string[] {
  if (!first || others.length === 0) return [];
  const { name, namespace } = first;
  return ['--name', others.some((other) => other.name === name) ? `${namespace}/${name}` : name];
}
