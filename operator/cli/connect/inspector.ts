import type { ClientEndpoint } from '../../../gateway/management/clients/client.ts';
import { ownCommandLine } from '../own-command.ts';

/** Origin of its page. Version 1 calls from there with the connection type Direct. */
const PAGE = 'http://localhost:6274';

/** Name of the MCP Inspector, which is no client with a file. */
export const INSPECTOR = 'inspector';

/** Returns true for the MCP Inspector, which has no configuration file. */
export const isInspector = (clientName: string): boolean => /^(?:mcp-?)?inspector$/iu.test(clientName);

/** Command that opens the MCP Inspector for an endpoint. */
export const inspectorCommand = ({ url }: ClientEndpoint): readonly string[] => [
  ...['npx', '@modelcontextprotocol/inspector'],
  ...['--server-url', url, '--transport', 'http'],
];

/** Renders the commands to run. The page of the Inspector needs leave to call, its program does not. */
export const inspectorText = (endpoint: ClientEndpoint): string =>
  [
    'Run this:',
    `  ${inspectorCommand(endpoint).join(' ')}`,
    'Inspector 1 with the connection type Direct calls from its page: let it, with',
    `  ${ownCommandLine('up', '...', '--allow-origin', PAGE)}`,
    '',
  ].join('\n');

/** Result for programs. */
export const inspectorJson = (endpoint: ClientEndpoint): string =>
  `${JSON.stringify({ client: INSPECTOR, ...endpoint, command: inspectorCommand(endpoint), allowOrigin: PAGE })}\n`;
