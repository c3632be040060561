import { defineCommand, outputOption } from './command.ts';
import type { ConnectFlags } from '../connect/connect.ts';

export const connectCommand = defineCommand(
  {
    name: 'connect',
    does: 'add a running virtual server to the configuration of an MCP client',
    example: 'vmcp connect claude-code',
  },
  (command) =>
    command
      .argument('[client]', 'client, such as cursor; without one, list all clients')
      .option('--url <url>', 'MCP URL (default: that of the running vmcp up)')
      .option('--name <name>', 'virtual server if several run, else name of the entry')
      .option('--print', 'print the entry and change nothing')
      .option('--remove', 'remove the entry')
      .option('--force', 'replace or remove an entry that points elsewhere')
      .option('--state <dir>', 'state folder of vmcp up (default: $XDG_STATE_HOME/vmcp)')
      .addOption(outputOption())
      .action(async (client: string | undefined, flags: ConnectFlags) => {
        const { connect } = await import('../connect/connect.ts');
        process.exitCode = connect(client, flags, process);
      }),
);
