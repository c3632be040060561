import type { StatusFlags } from '../status/status.ts';
import { defineCommand, httpUrl, outputOption, stateOption } from './command.ts';

export const statusCommand = defineCommand(
  {
    name: 'status',
    does: 'print the state, tools and calls of each server of a running gateway',
    example: 'vmcp status --watch',
    network: true,
  },
  (command) =>
    command
      .option('-w, --watch', 'print changes until Ctrl-C')
      .option('--management <url>', 'management URL of the gateway (default: that of vmcp up)', httpUrl)
      .addOption(stateOption())
      .addOption(outputOption())
      .action(async (flags: StatusFlags) => {
        const { status } = await import('../status/status.ts');
        process.exitCode = await status(flags);
      }),
);
