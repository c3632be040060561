import { DEFAULT_NAMESPACE, isManifestObject, manifestObjects } from '../files/manifest-object.ts';
import { resourceText, joinDocuments, serverText } from './resource-text.ts';
import { durationOf } from '../clients/timeouts.ts';
import type { ServerRules } from '../clients/server-spec.ts';
import { parseDocuments } from '../files/document.ts';
import { validateManifest } from '../files/validate.ts';

/** File to write into a folder of resources. */
export interface NewFile {
  readonly name: string;
  readonly text: string;
  /** Objects as `Kind/name`. */
  readonly objects: readonly string[];
  /** Mode of the file; the system decides when absent. */
  readonly mode?: number;
}

/** Commands in the comments of a folder. */
export interface FolderCommands {
  /** Renders a command line of vmcp. */
  readonly line: (...args: readonly string[]) => string;
  readonly dir: string;
}

/** Commands for a folder whose path is not known. */
const COMMANDS: FolderCommands = { line: (...args) => ['vmcp', ...args].join(' '), dir: 'FOLDER' };

export const GATEWAY_FILE = 'gateway.yaml';
export const SECRETS_FILE = 'secrets.yaml';
/** Mode of a file that contains secrets. */
export const OWNER_ONLY = 0o600;

const SECRETS_COMMENT =
  '# Secrets of the servers in this folder. Keep this file private: do not commit or share it.\n\n';

/** Returns the file of an MCPGroup and an anonymous VirtualMCPServer over it, both with this name. `rules` are those of its servers. */
export function gatewayFile(
  name: string,
  { line, dir }: FolderCommands = COMMANDS,
  rules: ReadonlyMap<string, ServerRules> = new Map(),
): NewFile {
  const identity = { name, namespace: DEFAULT_NAMESPACE };
  const group = resourceText(
    { kind: 'MCPGroup', ...identity },
    { description: 'Servers behind one endpoint.' },
    'The group of servers, and the endpoint that MCP clients connect to.',
    `Start everything in this folder:  ${line('up', dir)}`,
    `Add a server:  ${line('add', 'NAME', 'npx://PACKAGE', '--dir', dir)}`,
  );
  const server = resourceText(
    { kind: 'VirtualMCPServer', ...identity },
    { groupRef: { name }, incomingAuth: { type: 'anonymous' }, ...configOf(rules) },
    'anonymous: every program on this machine can use the endpoint. type: oidc requires a login.',
  );
  return {
    name: GATEWAY_FILE,
    text: joinDocuments(group, server),
    objects: [`MCPGroup/${name}`, `VirtualMCPServer/${name}`],
  };
}

function configOf(rules: ReadonlyMap<string, ServerRules>): { readonly config?: object } {
  const tools = [...rules].flatMap(([workload, { tools: filter }]) =>
    filter ? { workload, ...(filter.length > 0 ? { filter } : { excludeAll: true }) } : [],
  );
  const timeouts = [...rules].flatMap(([name, { timeoutMs }]) =>
    timeoutMs === undefined ? [] : [[name, durationOf(timeoutMs)] as const],
  );
  const config = {
    ...(tools.length > 0 && { aggregation: { tools } }),
    ...(timeouts.length > 0 && { operational: { timeouts: { perWorkload: Object.fromEntries(timeouts) } } }),
  };
  return Object.keys(config).length > 0 ? { config } : {};
}

/** Returns the file of Secrets, which only its owner can read. */
export const secretsFile = (secrets: readonly { readonly name: string; readonly text: string }[]): NewFile => ({
  name: SECRETS_FILE,
  text: `${SECRETS_COMMENT}${joinDocuments(...secrets.map(({ text }) => text))}`,
  objects: secrets.map(({ name }) => `Secret/${name}`),
  mode: OWNER_ONLY,
});

/** Lists what the kinds reject in the text of new resources, as `path: message`. */
export const textProblems = (text: string): string[] =>
  parseDocuments('', text)
    .documents.flatMap((document) => manifestObjects(document))
    .filter(isManifestObject)
    .map((object) => validateManifest(object))
    .flatMap((verdict) => (verdict.is === 'refused' ? verdict.problems : []))
    .map(({ path, message }) => `${path}: ${message}`);

const NAME = 'everything';

/** Returns the files of a new folder: a group and an endpoint with this name, and one server to try. */
export function starterFiles(name: string, commands: FolderCommands = COMMANDS): NewFile[] {
  const server = serverText(
    {
      runs: 'here',
      image: 'npx://@modelcontextprotocol/server-everything',
      transport: 'stdio',
      args: [],
      env: [],
      secrets: [],
    },
    { name: NAME, namespace: DEFAULT_NAMESPACE, group: name, secretName: NAME },
    'A server to try the endpoint: it has tools, prompts and resources of each kind.',
    'npx://PACKAGE is a package of npm, uvx://PACKAGE one of PyPI, NAME:TAG a container image.',
    `Remove it:  ${commands.line('remove', NAME, '--dir', commands.dir)}`,
  );
  return [
    gatewayFile(name, commands),
    { name: `${NAME}.yaml`, text: server.text, objects: [`${server.kind}/${NAME}`] },
  ];
}
