import { Option } from 'commander';
import type { ValidateOptions } from '../validate/validate.ts';
import { defineCommand, outputOption, PATHS, secretsDirOption } from './command.ts';

export const validateCommand = defineCommand(
  {
    name: 'validate',
    does: 'print every problem as file:line: Kind/name: path: message [Reason]',
    example: 'vmcp validate --cluster manifests/ --output json',
    network: true,
  },
  (command) =>
    command
      .argument(...PATHS)
      .addOption(
        new Option(
          '--cluster',
          'check what a cluster would accept: its admission, the operator and the pod templates (needs no cluster)',
        ).conflicts('secretsDir'),
      )
      .option('--online', 'check also that packages, images, URLs and issuers exist')
      .addOption(secretsDirOption())
      .addOption(outputOption())
      .action(async (paths: string[], flags: ValidateOptions) => {
        const { validate } = await import('../validate/validate.ts');
        process.exitCode = await validate(paths, { ...flags, hostEnv: process.env }, process);
      }),
);
