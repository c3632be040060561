import type { ExplainOptions } from '../explain/explain.ts';
import { defineCommand, outputOption, PATHS, secretsDirOption, stateOption } from './command.ts';

export const explainCommand = defineCommand(
  {
    name: 'explain',
    does: 'print which tools a user may call, and by which policy',
    example: "vmcp explain examples/authorization --as 'sub=alice,groups=admins|ops'",
    network: true,
  },
  (command) =>
    command
      .argument('<paths...>', `${PATHS[1]}; then the name of a tool, to explain only that one`)
      .requiredOption('--as <claims>', 'claims of the user: NAME=VALUE,..., with | between the values of a list')
      .option('--arguments <json>', 'arguments of the call, for policies that read them')
      .option('--name <name>', 'VirtualMCPServer to explain, when there are several')
      .addOption(secretsDirOption())
      .addOption(stateOption())
      .addOption(outputOption())
      .action(async (paths: string[], flags: Omit<ExplainOptions, 'hostEnv'>) => {
        const { explain } = await import('../explain/explain.ts');
        process.exitCode = await explain(paths, { ...flags, hostEnv: process.env }, process);
      }),
);
