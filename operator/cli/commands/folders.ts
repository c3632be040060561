import { Option } from 'commander';
import { DEFAULT_DIR, defineCommand, outputOption, dirOption } from './command.ts';

export const initCommand = defineCommand(
  {
    name: 'init',
    does: 'write a folder with an endpoint and one server to start from',
    example: 'vmcp init && vmcp up vmcp',
  },
  (command) =>
    command
      .argument('[dir]', 'folder without resources', DEFAULT_DIR)
      .addOption(outputOption())
      .action(async (dir: string, flags: { output?: 'json' }) => {
        const { init } = await import('../edit/init.ts');
        process.exitCode = await init(dir, flags, process);
      }),
);

export const importCommand = defineCommand(
  {
    name: 'import',
    does: 'write resources for the servers in the configuration of an MCP client',
    example: 'vmcp import ~/.cursor/mcp.json',
  },
  (command) =>
    command
      .argument('<files...>', 'JSON, TOML or YAML, or - for standard input')
      .addOption(dirOption('folder to write, with new files only'))
      .option('--name <name>', 'name of the endpoint and its group (default: the folder)')
      .addOption(outputOption())
      .action(async (files: string[], flags: { dir: string; name?: string; output?: 'json' }) => {
        const { importClients } = await import('../edit/import.ts');
        const { thisHost } = await import('../edit/folder.ts');
        process.exitCode = await importClients(files, flags, thisHost());
      }),
);

interface AddFlags {
  readonly dir: string;
  readonly group?: string;
  readonly env: string[];
  readonly secret: string[];
  readonly header: string[];
  readonly transport?: 'stdio' | 'streamable-http' | 'sse';
  readonly output?: 'json';
}

const collected = (flags: string, description: string): Option =>
  new Option(flags, description)
    .argParser((value: string, previous: readonly string[]) => [...previous, value])
    .default([], 'none');

export const addCommand = defineCommand(
  {
    name: 'add',
    does: 'add a server to a folder of resources',
    example: 'vmcp add files npx://@modelcontextprotocol/server-filesystem -- /tmp',
  },
  (command) =>
    command
      .argument('<name>', 'name of the server: lowercase letters, digits and "-"')
      .argument(
        '<source...>',
        'npx://PACKAGE, uvx://PACKAGE, command://PROGRAM, an image or a URL; then -- and arguments',
      )
      .addOption(dirOption('folder of the resources'))
      .option('--group <name>', 'MCPGroup of the server, when there are several')
      .addOption(collected('--env <name=value>', 'environment variable; a key goes to the Secret'))
      .addOption(collected('--secret <name[=value]>', 'environment variable in the Secret'))
      .addOption(collected('--header <name[=value]>', 'header for a URL, in the Secret'))
      .addOption(
        new Option('--transport <transport>', 'default: stdio, or by the URL').choices([
          'stdio',
          'streamable-http',
          'sse',
        ]),
      )
      .addOption(outputOption())
      .action(async (name: string, [source = '', ...args]: string[], flags: AddFlags) => {
        const { add } = await import('../edit/add.ts');
        const { thisHost } = await import('../edit/folder.ts');
        const { env, secret: secrets, header: headers, transport } = flags;
        process.exitCode = await add(name, { source, args, env, secrets, headers, transport }, flags, thisHost());
      }),
);

export const removeCommand = defineCommand(
  {
    name: 'remove',
    does: 'remove a server from a folder of resources',
    example: 'vmcp remove everything',
  },
  (command) =>
    command
      .argument('<name>', 'name of the MCPServer or MCPServerEntry')
      .addOption(dirOption('folder of the resources'))
      .addOption(outputOption())
      .action(async (name: string, flags: { dir: string; output?: 'json' }) => {
        const { remove } = await import('../edit/remove.ts');
        process.exitCode = await remove(name, flags, process);
      }),
);
