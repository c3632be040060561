import { defineCommand, dirOption, outputOption } from './command.ts';

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
        const { thisHost } = await import('../edit/edit-host.ts');
        process.exitCode = await importClients(files, flags, thisHost());
      }),
);
