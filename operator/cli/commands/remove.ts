import { defineCommand, dirOption, outputOption } from './command.ts';

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
