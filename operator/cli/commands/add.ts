import { Option } from 'commander';
import { defineCommand, dirOption, outputOption } from './command.ts';

interface Flags {
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
      .action(async (name: string, [source = '', ...args]: string[], flags: Flags) => {
        const { add } = await import('../edit/add.ts');
        const { thisHost } = await import('../edit/edit-host.ts');
        const { env, secret: secrets, header: headers, transport } = flags;
        process.exitCode = await add(name, { source, args, env, secrets, headers, transport }, flags, thisHost());
      }),
);
