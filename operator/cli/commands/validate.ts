import type { ValidateOptions } from '../validate/validate.ts';
import { defineCommand, outputOption, PATHS, secretsDirOption } from './command.ts';

export const validateCommand = defineCommand(
  {
    name: 'validate',
    does: 'print every problem as file:line: Kind/name: path: message [Reason]',
    example: 'vmcp validate manifests/ --output json',
    network: true,
  },
  (command) =>
    command
      .argument(...PATHS)
      .option('--online', 'check also that packages, images, URLs and issuers exist')
      .addOption(secretsDirOption())
      .addOption(outputOption())
      .action(async (paths: string[], flags: ValidateOptions) => {
        const { validate } = await import('../validate/validate.ts');
        process.exitCode = await validate(paths, { ...flags, hostEnv: process.env }, process);
      }),
);
