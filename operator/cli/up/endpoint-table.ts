import type { Gateway } from '../../../gateway/main.ts';
import { renderTable } from '../table.ts';

/** Returns the header option for the inspector, whose command line cannot log in. */
const headerOf = ({ issuer }: { readonly issuer: string | undefined }): string =>
  issuer === undefined ? '' : ' --header "Authorization: Bearer $TOKEN"';

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

/** Renders the output of `vmcp up` after the start: the endpoints, and commands to try. */
export function endpointTable({ servers, managementUrl }: Pick<Gateway, 'servers' | 'managementUrl'>): string {
  const lines = renderTable([
    ['NAME', 'MCP URL', 'ISSUER', 'MANAGEMENT'],
    ...servers.map(({ name, mcpUrl, issuer = '-' }) => [name, mcpUrl, issuer, managementUrl]),
  ]);
  const [first] = servers;
  const next = first
    ? [
        `List the tools:  npx @modelcontextprotocol/inspector --cli ${first.mcpUrl} --transport http${headerOf(first)} --method tools/list`,
      ]
    : [];
  return [
    '',
    ...lines,
    '',
    ...exposed(servers),
    ...next,
    `See the backends:  curl -s ${managementUrl}/status`,
    'Stop with Ctrl-C.',
    '',
    '',
  ].join('\n');
}
