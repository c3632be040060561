import type { Gateway, ServerSpec } from '../../../gateway/process/gateway.ts';
import { renderTable } from '../table.ts';
import { count } from '../validate/problems-output.ts';
import { ownCallback, sharedCallback } from '../../../gateway/contract/addresses.ts';

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

/**
 * Returns a line for each embedded authorization server whose issuer names another port of this machine than the one on
 * which it listens. An https issuer belongs to a proxy and is ignored.
 */
export const issuerPortLines = (specs: readonly Pick<ServerSpec, 'config' | 'port'>[]): string[] =>
  specs.flatMap(({ config: { name, embedded_auth_server_config: server }, port }) => {
    const issuer = URL.parse(server?.issuer ?? '');
    if (issuer?.protocol !== 'http:' || !isLoopbackHost(issuer.hostname)) return [];
    const named = issuer.port === '' ? 80 : Number(issuer.port);
    if (named === port) return [];
    return [
      `${name ?? ''} listens on port ${String(port)}, but its issuer ${issuer.href.replace(/\/$/u, '')} sends browsers to port ${String(named)}: free that port and start with --port ${String(named)}, or change the port in the files to ${String(port)}`,
    ];
  });

const isLoopbackHost = (host: string): boolean => host === 'localhost' || host === '[::1]' || /^127\./u.test(host);

/** Returns a line with the redirect URI to register at each identity provider. */
export const redirectUriLines = (configs: readonly ServerSpec['config'][]): string[] =>
  configs.flatMap(({ name = '', embedded_auth_server_config: server }) =>
    (server?.upstreams ?? []).map(({ name: provider = 'default', oidc_config, oauth2_config }, index) => {
      const shared = sharedCallback(server?.issuer ?? '');
      const configured = (oauth2_config ?? oidc_config)?.redirect_uri;
      const uri = configured ?? (index === 0 ? shared : ownCallback(server?.issuer ?? '', provider));
      const mayShare = configured === undefined && index > 0 && oidc_config !== undefined;
      const otherwise = mayShare ? `, or ${shared} if its metadata advertises iss (RFC 9207)` : '';
      return `${name}: at the provider "${provider}", register the redirect URI ${uri}${otherwise}`;
    }),
  );
