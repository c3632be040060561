import { Command } from 'commander';
import { EXIT_USAGE } from './command.ts';

/** A command of a later version: it is listed so that using it does not look like a typing mistake. */
export const serveCommand = new Command('serve')
  .description('the management API alone (not built yet)')
  .allowUnknownOption()
  .allowExcessArguments()
  .action(() => {
    process.stderr.write('vmcp serve is not built yet: use vmcp up to run the same resources on this machine\n');
    process.exitCode = EXIT_USAGE;
  });
